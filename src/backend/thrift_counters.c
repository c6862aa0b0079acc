/* thrift_counters.c - the counters' memory. */
#include "backend/thrift_counters.h"

#include "base/published.h"

struct thrift_counters thrift_counters;
PUBLISHED(thrift_counters);
