/* thrift_counters.c - the counters' memory. */
#include "backend/thrift_counters.h"

struct thrift_counters thrift_counters;
