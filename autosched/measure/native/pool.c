#define _GNU_SOURCE
#include "pool.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINE 64
#define CHUNKS_PER_SHARE 16
#define SPINS_BETWEEN_CLOCKS 64
/* How long a thread spins while a run is going on: waking a sleeper can cost a virtual machine a tenth of this, and a
   region's threads seldom end further apart. After the first part it lets others run, who may be those it waits for. */
#define SPIN_NANOSECONDS_IN_RUN 1000000
#define SPIN_NANOSECONDS_ALONE 5000

/* One thread's tasks of the current region: [next, end), taken in chunks by anybody. */
typedef struct {
    _Alignas(LINE) _Atomic int64_t next;
    int64_t end;
} share;

typedef struct {
    pool *owner;
    pthread_t handle;
    int32_t index;
    int32_t cpu;
} worker;

struct pool {
    int32_t threads;
    int64_t spin_nanoseconds;
    pthread_mutex_t turn;
    worker *workers;
    share *shares;
    /* The work of this phase. Written by the caller before it raises `phase`, read by workers after they see that. */
    const region *now;
    void *const *scratch;
    int64_t chunk;
    int stop;
    _Alignas(LINE) _Atomic uint32_t phase;
    _Alignas(LINE) _Atomic uint32_t arrived;
    _Alignas(LINE) _Atomic uint32_t sleepers;
    _Alignas(LINE) _Atomic uint32_t caller_sleeps;
    _Alignas(LINE) _Atomic uint32_t running;
};

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

static int64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Spins until *word differs from `seen`: for long while a run is going on, after it for the pool's spin time. 1 if it
   changed. */
static int spin_for_change(const pool *p, _Atomic uint32_t *word, uint32_t seen)
{
    int64_t began = nanoseconds(), idle_since = began;
    do {
        for (int i = 0; i < SPINS_BETWEEN_CLOCKS; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen)
                return 1;
            relax();
        }
        int64_t now = nanoseconds();
        if (atomic_load_explicit(&p->running, memory_order_relaxed)) {
            idle_since = now;
            if (now - began >= SPIN_NANOSECONDS_IN_RUN)
                return 0;
            if (now - began >= SPIN_NANOSECONDS_ALONE)
                sched_yield();
        } else if (now - idle_since >= p->spin_nanoseconds) {
            return 0;
        }
    } while (1);
}

/* The sleeper announces itself before it looks again, the waker raises the word before it looks for sleepers; both are
   sequentially consistent, so one of them sees the other. */
static void sleep_for_change(_Atomic uint32_t *word, uint32_t seen, _Atomic uint32_t *announced)
{
    atomic_fetch_add(announced, 1);
    while (atomic_load(word) == seen)
        futex_wait(word, seen);
    atomic_fetch_sub(announced, 1);
}

static void wait_for_change(const pool *p, _Atomic uint32_t *word, uint32_t seen, _Atomic uint32_t *announced)
{
    if (!spin_for_change(p, word, seen))
        sleep_for_change(word, seen, announced);
}

static void deal(pool *p, const region *r)
{
    int64_t n = r->tasks, threads = p->threads;
    p->chunk = n / (threads * CHUNKS_PER_SHARE);
    if (p->chunk < 1)
        p->chunk = 1;
    for (int64_t t = 0; t < threads; t++) {
        /* Whole part and rest apart: n * t may not fit. */
        int64_t first = n / threads * t + n % threads * t / threads;
        int64_t last = n / threads * (t + 1) + n % threads * (t + 1) / threads;
        atomic_store_explicit(&p->shares[t].next, first, memory_order_relaxed);
        p->shares[t].end = last;
    }
    p->now = r;
}

static void take_from(const pool *p, share *s, int32_t thread)
{
    const region *r = p->now;
    while (atomic_load_explicit(&s->next, memory_order_relaxed) < s->end) {
        int64_t first = atomic_fetch_add_explicit(&s->next, p->chunk, memory_order_relaxed);
        if (first >= s->end)
            return;
        int64_t last = first + p->chunk < s->end ? first + p->chunk : s->end;
        r->function(r->in, r->out, p->scratch[thread], first, last, thread);
    }
}

static void work(pool *p, int32_t thread)
{
    for (int32_t i = 0; i < p->threads; i++)
        take_from(p, &p->shares[(thread + i) % p->threads], thread);
}

static void *worker_main(void *argument)
{
    worker *w = argument;
    pool *p = w->owner;
    uint32_t seen = 0;
    for (;;) {
        wait_for_change(p, &p->phase, seen, &p->sleepers);
        seen = atomic_load_explicit(&p->phase, memory_order_acquire);
        if (p->stop)
            return NULL;
        if (p->now)
            work(p, w->index);
        atomic_fetch_add(&p->arrived, 1);
        if (atomic_load(&p->caller_sleeps))
            futex_wake(&p->arrived);
    }
}

static void raise_phase(pool *p)
{
    atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
    atomic_fetch_add(&p->phase, 1);
    if (atomic_load(&p->sleepers))
        futex_wake(&p->phase);
}

static void wait_for_workers(pool *p)
{
    uint32_t all = (uint32_t)p->threads - 1, seen;
    while ((seen = atomic_load_explicit(&p->arrived, memory_order_acquire)) != all)
        wait_for_change(p, &p->arrived, seen, &p->caller_sleeps);
}

static void run_on_all(pool *p, const region *r)
{
    if (r)
        deal(p, r);
    else
        p->now = NULL;
    raise_phase(p);
    if (r)
        work(p, 0);
    wait_for_workers(p);
}

void pool_run(pool *p, const region *regions, int32_t count, void *const *scratch)
{
    pthread_mutex_lock(&p->turn);
    p->scratch = scratch;
    atomic_store_explicit(&p->running, 1, memory_order_relaxed);
    for (int32_t i = 0; i < count; i++) {
        const region *r = &regions[i];
        if (p->threads == 1 || r->tasks <= 1) {
            if (r->tasks > 0)
                r->function(r->in, r->out, scratch[0], 0, r->tasks, 0);
        } else {
            run_on_all(p, r);
        }
    }
    if (!count && p->threads > 1)
        run_on_all(p, NULL);
    atomic_store_explicit(&p->running, 0, memory_order_relaxed);
    pthread_mutex_unlock(&p->turn);
}

void pool_cpus(const pool *p, int32_t *cpus)
{
    for (int32_t t = 1; t < p->threads; t++) {
        cpu_set_t set;
        int alone = !pthread_getaffinity_np(p->workers[t].handle, sizeof set, &set) && CPU_COUNT(&set) == 1;
        cpus[t - 1] = -1;
        for (int c = 0; alone && c < CPU_SETSIZE; c++)
            if (CPU_ISSET(c, &set))
                cpus[t - 1] = c;
    }
}

static int start_worker(worker *w)
{
    pthread_attr_t attributes;
    cpu_set_t set;
    int failed;
    if (pthread_attr_init(&attributes))
        return 1;
    if (w->cpu >= 0) {
        CPU_ZERO(&set);
        CPU_SET(w->cpu, &set);
        pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    }
    failed = pthread_create(&w->handle, &attributes, worker_main, w);
    pthread_attr_destroy(&attributes);
    return failed;
}

/* Workers take no signals, which are for the program that the pool is a guest in, save those of their own faults. */
static int32_t start_workers(pool *p, const int32_t *cpus)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t all, before;
    int32_t started = 1;
    sigfillset(&all);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; started < p->threads; started++) {
        worker *w = &p->workers[started];
        *w = (worker){.owner = p, .index = started, .cpu = cpus ? cpus[started] : -1};
        if (start_worker(w))
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void stop_workers(pool *p, int32_t started)
{
    p->stop = 1;
    raise_phase(p);
    for (int32_t t = 1; t < started; t++)
        pthread_join(p->workers[t].handle, NULL);
}

static void release(pool *p)
{
    pthread_mutex_destroy(&p->turn);
    free(p->workers);
    free(p->shares);
    free(p);
}

pool *pool_create(int32_t threads, const int32_t *cpus, int64_t spin_nanoseconds)
{
    pool *p = threads < 1 ? NULL : aligned_alloc(LINE, (sizeof *p + LINE - 1) / LINE * LINE);
    if (!p)
        return NULL;
    *p = (pool){.threads = threads, .spin_nanoseconds = spin_nanoseconds};
    pthread_mutex_init(&p->turn, NULL);
    p->workers = calloc((size_t)threads, sizeof *p->workers);
    p->shares = aligned_alloc(LINE, sizeof *p->shares * (size_t)threads);
    int32_t started = p->workers && p->shares ? start_workers(p, cpus) : 0;
    if (started == threads) {
        pool_run(p, NULL, 0, NULL); /* every worker is up */
        return p;
    }
    stop_workers(p, started);
    release(p);
    return NULL;
}

void pool_destroy(pool *p)
{
    stop_workers(p, p->threads);
    release(p);
}
