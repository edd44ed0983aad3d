/* What measuring needs beside the pool: timed samples that know how much others disturbed them, and a last word from a
   process that dies of a signal. */
#define _GNU_SOURCE
#include "pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define STAT_BYTES 65536
#define STEAL_COLUMN 8

/* One timed sample. `switches`: involuntary context switches of all threads; `waited_nanoseconds`: time its threads
   stood ready without a CPU; `stolen_ticks`: time the hypervisor gave to others. */
typedef struct {
    int64_t nanoseconds;
    int64_t switches;
    int64_t waited_nanoseconds;
    int64_t stolen_ticks;
} sample;

/* Open files through which the disturbances are read; -1 where the host does not offer them. */
typedef struct {
    int32_t n_schedstat;
    const int32_t *schedstat;
    int32_t stat;
    int32_t n_cpus;
    const int32_t *cpus;
} probes;

static int64_t read_waited(const probes *q)
{
    int64_t total = 0;
    for (int32_t i = 0; i < q->n_schedstat; i++) {
        char text[128];
        ssize_t n = q->schedstat[i] < 0 ? 0 : pread(q->schedstat[i], text, sizeof text - 1, 0);
        if (n > 0) {
            char *rest;
            text[n] = 0;
            strtoull(text, &rest, 10);
            total += (int64_t)strtoull(rest, NULL, 10);
        }
    }
    return total;
}

static int is_watched(const probes *q, long cpu)
{
    for (int32_t i = 0; i < q->n_cpus; i++)
        if (q->cpus[i] == cpu)
            return 1;
    return 0;
}

/* The steal column of one "cpuN ..." line if we watch that CPU, else 0. */
static int64_t stolen_in(const probes *q, char *line)
{
    int64_t value = 0;
    if (line[3] == ' ' || !is_watched(q, strtol(line + 3, &line, 10)))
        return 0;
    for (int column = 0; column < STEAL_COLUMN; column++)
        value = strtoll(line, &line, 10);
    return value;
}

static int64_t read_stolen(const probes *q)
{
    static char text[STAT_BYTES];
    ssize_t n = q->stat < 0 ? 0 : pread(q->stat, text, sizeof text - 1, 0);
    int64_t total = 0;
    char *line = text;
    text[n > 0 ? n : 0] = 0;
    while (line && !strncmp(line, "cpu", 3)) {
        total += stolen_in(q, line);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return total;
}

static int64_t read_switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

static int64_t now_nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Times `calls` runs of the regions together. */
void watch_sample(pool *p, const region *regions, int32_t count, void *const *scratch, int64_t calls, const probes *q,
                  sample *result)
{
    int64_t stolen = read_stolen(q), waited, switches, start;
    pool_run(p, NULL, 0, NULL); /* wakes the workers outside the timed part */
    waited = read_waited(q);
    switches = read_switches();
    start = now_nanoseconds();
    for (int64_t i = 0; i < calls; i++)
        pool_run(p, regions, count, scratch);
    result->nanoseconds = now_nanoseconds() - start;
    result->switches = read_switches() - switches;
    result->waited_nanoseconds = read_waited(q) - waited;
    result->stolen_ticks = read_stolen(q) - stolen;
}

static int last_words_file = -1;
static char last_words_stack[65536];

static char *put_number(char *at, unsigned long value)
{
    char digits[24];
    int n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n)
        *at++ = digits[--n];
    *at++ = ' ';
    return at;
}

/* "SIGNAL ADDRESS ERRNO\n", then the signal's own course. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    char line[96], *at = line;
    int saved = errno;
    (void)context;
    at = put_number(at, (unsigned long)number);
    at = put_number(at, (unsigned long)info->si_addr);
    at = put_number(at, (unsigned long)saved);
    at[-1] = '\n';
    if (write(last_words_file, line, (size_t)(at - line)) < 0)
        _exit(127);
    signal(number, SIG_DFL);
    raise(number);
}

/* From here on a fault first writes a line to `file`. */
void watch_faults(int32_t file)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    stack_t stack = {.ss_sp = last_words_stack, .ss_size = sizeof last_words_stack};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    last_words_file = file;
    sigaltstack(&stack, NULL);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

void watch_errno(int32_t value)
{
    errno = value;
}
