/* thrift_counters.c - the counters' memory. */
#include "backend/thrift_counters.h"

#include "base/compiler.h"
#include "base/published.h"

struct thrift_counters thrift_counters;
PUBLISHED(thrift_counters);

NOINLINE void other_bytes_add(intptr_t bytes) {
    atomic_fetch_add_explicit(&thrift_counters.others, (size_t)bytes, memory_order_relaxed);
}
