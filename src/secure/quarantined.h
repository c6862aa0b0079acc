/* quarantined.h - what the tiers must know of the quarantine, which lies above them (shield/quarantine.h). */
#ifndef JW_QUARANTINED_H
#define JW_QUARANTINED_H

struct heap;
struct quarantine;

/* Hardened build: all that waits in the heap's quarantine goes to the allocator. By the heap's thread. */
void quarantine_leave(struct heap *heap);

#endif
