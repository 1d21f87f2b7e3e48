/* Calls routines of the library that it is started with, on cases from standard input.

   probe check NAME    a line: the routine's name, cases, checksum of all that came out
   probe time MICROS   a line a case: its number, nanoseconds of a call

   A case is of words of eight bytes in the machine's order: number of the routine in routines.h,
   number of the case, how its result is compared, four arguments, number of pieces of memory;
   then address and bytes of each piece; then their content.  Number -1 ends the input.  The cases
   of a routine stand together.  What a routine must not touch is not there: that a case went there
   is part of the checksum.  */

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long word;
typedef long call(long, long, long, long);

enum { QUAD, INT, SIGN, NOTHING };
enum { ROUTINE, NUMBER, RESULT, ARGUMENTS, PIECES = ARGUMENTS + 4, HEAD };

#define DECLARED(name) extern call routine_##name __asm__(#name);
#define ENTRY(name) {#name, routine_##name},
#include "routines.h"
ROUTINES(DECLARED)
static const struct { const char *name; call *function; } routines[] = { ROUTINES(ENTRY) };

static word buffer[1 << 17];
static char text[160];
static unsigned long used;

static void add(const char *from)
{
    while (*from)
        text[used++] = *from++;
}

static void number(word value, unsigned base, unsigned digits)
{
    char made[24];
    unsigned n = 0;
    do
        made[n++] = "0123456789abcdef"[value % base];
    while ((value /= base) || n < digits);
    while (n)
        text[used++] = made[--n];
}

static void line(void)
{
    unsigned long at = 0;
    text[used++] = '\n';
    while (at < used) {
        long done = write(1, text + at, used - at);
        if (done <= 0)
            _exit(1);
        at += done;
    }
    used = 0;
}

static void fill(void *to, unsigned long size)
{
    char *at = to;
    while (size) {
        long done = read(0, at, size);
        if (done <= 0)
            _exit(1);
        at += done;
        size -= done;
    }
}

/* The next case, with its content behind it; false at the end. */
static int next(void)
{
    unsigned long size = 0, piece;
    fill(buffer, sizeof *buffer);
    if (buffer[ROUTINE] == ~0ULL)
        return 0;
    fill(buffer + 1, (HEAD - 1) * sizeof *buffer);
    fill(buffer + HEAD, 2 * buffer[PIECES] * sizeof *buffer);
    for (piece = 0; piece < buffer[PIECES]; piece++)
        size += buffer[HEAD + 2 * piece + 1];
    fill(buffer + HEAD + 2 * buffer[PIECES], size);
    return 1;
}

/* Brings the pieces of the case to their places, or takes them from there into a checksum. */
static word moved(int out, word sum)
{
    word *from = buffer + HEAD + 2 * buffer[PIECES];
    unsigned long piece, n;
    for (piece = 0; piece < buffer[PIECES]; piece++) {
        word *there = (word *)(unsigned long)buffer[HEAD + 2 * piece];
        for (n = 0; n < buffer[HEAD + 2 * piece + 1] / sizeof *there; n++)
            if (out)
                sum = (sum ^ there[n]) * 0x100000001b3ULL;
            else
                there[n] = *from++;
    }
    return sum;
}

static long called(void)
{
    const word *with = buffer + ARGUMENTS;
    return routines[buffer[ROUTINE]].function(with[0], with[1], with[2], with[3]);
}

static word compared(long result)
{
    int low = result;
    switch (buffer[RESULT]) {
    case QUAD: return (unsigned long)result;
    case INT: return (unsigned long)(long)low;
    case SIGN: return (low > 0) - (low < 0);
    default: return 0;
    }
}

static int same(const char *one, const char *other)
{
    while (*one && *one == *other)
        one++, other++;
    return *one == *other;
}

static jmp_buf faulted;

static void fault(int number)
{
    longjmp(faulted, 1);
}

/* The result of a case, or a number that none is. */
static word outcome(void)
{
    return setjmp(faulted) ? 0xfa017edULL << 32 | 1 : compared(called());
}

static void check(const char *name)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};
    struct sigaction action = {.sa_handler = fault, .sa_flags = SA_NODEFER};
    word count = 0, sum = 0;
    unsigned n;
    for (n = 0; n < sizeof faults / sizeof *faults; n++)
        sigaction(faults[n], &action, 0);
    while (next()) {
        if (!same(routines[buffer[ROUTINE]].name, name))
            continue;
        moved(0, 0);
        sum = (sum ^ outcome()) * 0x100000001b3ULL;
        sum = moved(1, sum);
        count++;
    }
    add("check ");
    add(name);
    add(" ");
    number(count, 10, 1);
    add(" ");
    number(sum, 16, 16);
    line();
}

static long nothing(long a, long b, long c, long d)
{
    __asm__ volatile("");
    return a;
}

static word now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000ULL + at.tv_nsec;
}

static word took(call *volatile *function, word calls)
{
    const word *with = buffer + ARGUMENTS;
    long a = with[0], b = with[1], c = with[2], d = with[3];
    word begun = now();
    while (calls--)
        (*function)(a, b, c, d);
    return now() - begun;
}

/* The least time of a call, in hundredths of a nanosecond, of five runs that take so long. */
static word hundredths(call *of, word least)
{
    call *volatile function = of;
    word calls = 16, best = ~0ULL, run;
    while (took(&function, calls) < least)
        calls *= 2;
    for (run = 0; run < 5; run++) {
        word time = took(&function, calls) * 100 / calls;
        best = time < best ? time : best;
    }
    return best;
}

static void timed(const char *what, word which, word time)
{
    add(what);
    if (which != ~0ULL)
        number(which, 10, 1);
    add(" ");
    number(time / 100, 10, 1);
    add(".");
    number(time % 100, 10, 2);
    line();
}

static void measure(word least)
{
    timed("empty", ~0ULL, hundredths(nothing, least));
    while (next()) {
        moved(0, 0);
        timed("time ", buffer[NUMBER], hundredths(routines[buffer[ROUTINE]].function, least));
    }
}

int main(int argc, char **argv)
{
    static const struct { unsigned long start, size; } rooms[] = { ROOMS };
    unsigned n;
    for (n = 0; n < sizeof rooms / sizeof *rooms; n++) {
        void *wanted = (void *)rooms[n].start;
        if (mmap(wanted, rooms[n].size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            != wanted)
            return 2;
    }
    if (argc != 3)
        return 2;
    if (same(argv[1], "time")) {
        word micros = 0;
        const char *digit;
        for (digit = argv[2]; *digit; digit++)
            micros = micros * 10 + (*digit - '0');
        measure(micros * 1000);
    } else {
        check(argv[2]);
    }
    return 0;
}
