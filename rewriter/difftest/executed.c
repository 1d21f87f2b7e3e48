/* A QEMU TCG plugin that counts the guest instructions that are executed, by ranges of addresses.

   Arguments: out=FILE and, ascending, at=ADDRESS for the start of each range but the first, which
   starts at 0. FILE gets one number a range. Exact for machines with one processor: inline
   additions are not atomic. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

enum { MOST = 256 };
static uint64_t starts[MOST], executed[MOST];
static int ranges = 1;
static const char *out;

static int range_of(uint64_t address)
{
    int found = ranges - 1;
    while (address < starts[found])
        found--;
    return found;
}

/* Each instruction for itself: one in the middle of a block may trap. */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint64_t *count = &executed[range_of(qemu_plugin_insn_vaddr(insn))];
        qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, count, 1);
    }
}

static void finished(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    FILE *f = fopen(out, "w");
    if (!f)
        return;
    for (int i = 0; i < ranges; i++)
        fprintf(f, "%lu\n", (unsigned long)executed[i]);
    fclose(f);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "out=", 4))
            out = argv[i] + 4;
        else if (!strncmp(argv[i], "at=", 3)) {
            if (ranges == MOST)
                return 1;
            starts[ranges++] = strtoul(argv[i] + 3, 0, 0);
        }
    }
    if (!out)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, 0);
    return 0;
}
