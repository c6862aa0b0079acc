/* remote.h - the clients of remote reclaim: objects of the owner, which is main; frees by others; rounds. */
#ifndef JW_REMOTE_H
#define JW_REMOTE_H

#include "frontend/remote_reclaim.h"
#include "verify/clients/frontend_client.h"

#define ALL ((void *)1) /* of a round: it gives all back */

static uint64_t *objects[8];
static size_t object_bytes;

/* Main allocates so many, each filled with its number. */
static inline void begin(size_t size, size_t count) {
    start_allocator();
    object_bytes = size;
    for (size_t i = 0; i < count; i++) objects[i] = get(size, i);
}

static inline void *free_numbered(void *number) {
    give(objects[(size_t)number], object_bytes, (size_t)number);
    return NULL;
}

/* Another thread frees the object of that number. */
static inline pthread_t start_free(size_t number) {
    return start(free_numbered, (void *)number);
}

static inline void *remote_round(void *all) {
    remote_reclaim_round(all == ALL);
    return NULL;
}

#endif
