/* A QEMU TCG plugin that counts which way the conditional branches of one file go.

   Arguments: out=FILE, sites=FILE and, if there is one, the predictor's sizes: local= history=
   counter= path= global= choice= (entries of the table of local histories, the others in bits);
   without them missed is 0.  library=NAME is the end
   of the file's path where it is mapped; without it, places are addresses.

   The file of sites has a line "place distance" for each branch, ascending, in hexadecimal: its
   offset in the file or its address, and how far its target is from the next instruction.  The
   output gets "place executed taken missed", decimal, for each that was executed: missed is how
   often a predictor of two levels and a choice (21264) that sees these branches alone is wrong.

   Of one process, and exact for one thread; children of a fork are not counted. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../plugin.h"

struct site {
    uint64_t place;
    int64_t distance;
    uint64_t executed, taken, missed, next;
};
static struct site *sites, *waiting;
static size_t count;
static const char *out, *library;
static pid_t first;

/* Where the library lies, part by part. */
struct part {
    uintptr_t low, high, offset;
};
static struct part parts[64];
static int found;
static uintptr_t elsewhere[4096];

enum { LOCAL, HISTORY, COUNTER, PATH, GLOBAL, CHOICE, SIZES };
static const char *const names[SIZES] = {"local=", "history=", "counter=", "path=", "global=", "choice="};
static unsigned long sizes[SIZES];
static uint16_t *histories;
static uint8_t *local, *global, *choice;
static uint32_t path;

static void find_library(void)
{
    char text[4400];
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps)
        return;
    size_t n = strlen(library);
    found = 0;
    while (fgets(text, sizeof text, maps) && found < 64) {
        unsigned long low, high, offset;
        size_t length = strcspn(text, "\n");
        if (length < n || strncmp(text + length - n, library, n) || sscanf(text, "%lx-%lx %*s %lx", &low, &high, &offset) != 3)
            continue;
        parts[found++] = (struct part){low, high, offset};
    }
    fclose(maps);
}

static bool place_of(const struct qemu_plugin_insn *insn, uint64_t *place)
{
    if (!library) {
        *place = qemu_plugin_insn_vaddr(insn);
        return true;
    }
    uintptr_t address = (uintptr_t)qemu_plugin_insn_haddr(insn), page = address >> 12;
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < found; i++)
            if (address >= parts[i].low && address < parts[i].high) {
                *place = address - parts[i].low + parts[i].offset;
                return true;
            }
        /* Each page is looked for once: a library is mapped before it runs. */
        if (elsewhere[page % 4096] == page)
            return false;
        elsewhere[page % 4096] = page;
        find_library();
    }
    return false;
}

static struct site *site_at(uint64_t place)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sites[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && sites[low].place == place ? &sites[low] : 0;
}

static uint8_t moved(uint8_t counter, bool up, unsigned long bits)
{
    if (up)
        return counter + 1 < 1 << bits ? counter + 1 : counter;
    return counter ? counter - 1 : 0;
}

static bool high(uint8_t counter, unsigned long bits)
{
    return counter > ((1 << bits) - 1) / 2;
}

static bool foreseen(uint64_t place, bool taken)
{
    uint16_t *history = &histories[place >> 2 & (sizes[LOCAL] - 1)];
    uint8_t *own = &local[*history], *whole = &global[path], *which = &choice[path];
    bool near = high(*own, sizes[COUNTER]), far = high(*whole, sizes[GLOBAL]);
    bool guess = high(*which, sizes[CHOICE]) ? far : near;
    if (near != far)
        *which = moved(*which, far == taken, sizes[CHOICE]);
    *own = moved(*own, taken, sizes[COUNTER]);
    *whole = moved(*whole, taken, sizes[GLOBAL]);
    *history = (*history << 1 | taken) & ((1 << sizes[HISTORY]) - 1);
    path = (path << 1 | taken) & ((1u << sizes[PATH]) - 1);
    return guess == taken;
}

static void arrived(unsigned cpu, void *data)
{
    (void)cpu;
    struct site *site = waiting;
    uint64_t there = (uintptr_t)data;
    if (!site)
        return;
    waiting = 0;
    bool taken = there == site->next + (uint64_t)site->distance;
    if (!taken && there != site->next)
        return; /* an interrupt came between */
    site->executed++;
    site->taken += taken;
    if (histories)
        site->missed += !foreseen(site->place, taken);
}

static void branched(unsigned cpu, void *data)
{
    (void)cpu;
    waiting = data;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    size_t n = qemu_plugin_tb_n_insns(tb);
    struct qemu_plugin_insn *head = qemu_plugin_tb_get_insn(tb, 0);
    qemu_plugin_register_vcpu_insn_exec_cb(head, arrived, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)qemu_plugin_insn_vaddr(head));
    struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, n - 1);
    uint64_t place;
    struct site *site = place_of(last, &place) ? site_at(place) : 0;
    if (site) {
        site->next = qemu_plugin_insn_vaddr(last) + 4;
        qemu_plugin_register_vcpu_insn_exec_cb(last, branched, QEMU_PLUGIN_CB_NO_REGS, site);
    }
}

static void finished(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    FILE *f = getpid() == first ? fopen(out, "w") : 0;
    if (!f)
        return;
    for (size_t i = 0; i < count; i++)
        if (sites[i].executed)
            fprintf(f, "%lu %lu %lu %lu\n", (unsigned long)sites[i].place, (unsigned long)sites[i].executed,
                    (unsigned long)sites[i].taken, (unsigned long)sites[i].missed);
    fclose(f);
}

static bool read_sites(const char *name)
{
    FILE *f = fopen(name, "r");
    size_t room = 0;
    unsigned long place;
    long distance;
    if (!f)
        return false;
    while (fscanf(f, "%lx %ld", &place, &distance) == 2) {
        if (count == room) {
            room = room ? 2 * room : 1024;
            sites = realloc(sites, room * sizeof *sites);
            if (!sites)
                abort();
        }
        sites[count++] = (struct site){.place = place, .distance = distance};
    }
    fclose(f);
    return true;
}

static uint8_t *counters(unsigned long entries, unsigned long bits)
{
    uint8_t *made = malloc(entries);
    if (!made)
        abort();
    memset(made, ((1 << bits) - 1) / 2, entries);
    return made;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "out=", 4))
            out = argv[i] + 4;
        else if (!strncmp(argv[i], "library=", 8))
            library = argv[i] + 8;
        else if (!strncmp(argv[i], "sites=", 6) && !read_sites(argv[i] + 6))
            return 1;
        for (int k = 0; k < SIZES; k++)
            if (!strncmp(argv[i], names[k], strlen(names[k])))
                sizes[k] = strtoul(argv[i] + strlen(names[k]), 0, 10);
    }
    int given = 0;
    for (int k = 0; k < SIZES; k++) {
        given += sizes[k] != 0;
        if (k != LOCAL && sizes[k] > 16)
            return 1;
    }
    if (!out || (given && given != SIZES))
        return 1;
    first = getpid();
    if (given) {
        histories = calloc(sizes[LOCAL], sizeof *histories);
        local = counters(1ul << sizes[HISTORY], sizes[COUNTER]);
        global = counters(1ul << sizes[PATH], sizes[GLOBAL]);
        choice = counters(1ul << sizes[PATH], sizes[CHOICE]);
        if (!histories)
            abort();
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, 0);
    return 0;
}
