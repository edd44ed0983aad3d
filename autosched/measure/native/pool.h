/* A small pinned thread pool that drives generated kernels: the same in measuring, in the runtime and in C modules.

   pool *p = pool_create(threads, cpus, spin_nanoseconds);
   pool_run(p, regions, count, scratch);      // all regions, one after another, each on all threads
   pool_destroy(p);

   The caller is thread 0. Each thread owns an equal contiguous share of a region's tasks, so that repeated calls touch
   the same data from the same core; a thread that is done helps the others, so that a slow core holds nobody up. */
#ifndef AUTOSCHED_POOL_H
#define AUTOSCHED_POOL_H

#include <stdint.h>

typedef void (*region_function)(const void *const *in, void *const *out, void *scratch, int64_t first, int64_t last,
                                int32_t thread);

typedef struct {
    region_function function;
    const void *const *in;
    void *const *out;
    int64_t tasks;
} region;

typedef struct pool pool;

/* `cpus` holds one CPU a thread, or is null for no pinning; the caller is never pinned here. A waiting thread spins
   while a run is going on (up to a millisecond) and for `spin_nanoseconds` after it, then sleeps. Null if memory or threads run out. */
pool *pool_create(int32_t threads, const int32_t *cpus, int64_t spin_nanoseconds);

/* Runs the regions in order; `scratch` holds one pointer a thread. Callers take turns. With no region it still wakes
   every worker and waits for its answer. */
void pool_run(pool *p, const region *regions, int32_t count, void *const *scratch);

/* The CPU that each worker (threads 1 and up) is pinned to, read back from the system; -1: none. */
void pool_cpus(const pool *p, int32_t *cpus);

void pool_destroy(pool *p);

#endif
