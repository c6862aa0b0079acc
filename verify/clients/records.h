/* records.h - the records of a few granules without an OS, for clients of Nest and Knit alone.
 *
 * held[range] stands for all that passes from holder to holder with a range: plain, so that two holders are a race.
 */
#ifndef JW_RECORDS_H
#define JW_RECORDS_H

#include "backend/page_map.h"
#include "verify/checker/checker.h"
#include "verify/clients/client.h"

enum { RECORDS = 32, ROOT = ROOT_GRANULES };

static table_word records_leaf[RECORDS], records_node[RECORDS], records_link[RECORDS];
static uint64_t held[RECORDS];

static inline void records_start(void) {
    page_map.leaf = records_leaf;
    page_map.node = records_node;
    page_map.link = records_link;
    page_map.mask = RECORDS - 1;
    checker_uninitialised(records_node, sizeof records_node); /* no thread reads a node's word before it is made */
}

/* What a holder does with its range. */
static inline void hold(granule_id range) {
    held[range]++;
}

#endif
