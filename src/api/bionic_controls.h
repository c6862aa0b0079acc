/* bionic_controls.h - glue: what bionic calls by Scudo's names beside the dispatch table, served by ours
 * (core/host_controls.h). For one C file of a bionic with the core inside, or with the hardened build; only a test of
 * ours includes it. No bionic was built so.
 *
 * bionic's functions return nothing: where we refuse, nothing changes. bionic itself asks the kernel for tags, in each
 * thread. The addresses and sizes are for debuggerd, which reads Scudo's records in a process that has crashed. Ours
 * has none: the host fills its own depot of stacks in jw_allocated and jw_freed, and knows where the depot is. */
#ifndef JW_BIONIC_CONTROLS_H
#define JW_BIONIC_CONTROLS_H

#include <stddef.h>

#include "core/host_controls.h"

/* NOLINTBEGIN(bugprone-reserved-identifier): bionic's names */
void scudo_malloc_set_zero_contents(int on);
void scudo_malloc_set_pattern_fill_contents(int on);
void scudo_malloc_disable_memory_tagging(void);
void scudo_malloc_set_track_allocation_stacks(int on);
void scudo_malloc_set_add_large_allocation_slack(int on);
const char *__scudo_get_stack_depot_addr(void);
const char *__scudo_get_region_info_addr(void);
const char *__scudo_get_ring_buffer_addr(void);
size_t __scudo_get_stack_depot_size(void);
size_t __scudo_get_ring_buffer_size(void);

void scudo_malloc_set_zero_contents(int on) {
    jw_set_zero_contents(on);
}

void scudo_malloc_set_pattern_fill_contents(int on) {
    jw_set_pattern_contents(on);
}

void scudo_malloc_disable_memory_tagging(void) {
    jw_set_memory_tags(JW_TAGS_OFF);
}

void scudo_malloc_set_track_allocation_stacks(int on) {
    jw_track_objects(on);
}

void scudo_malloc_set_add_large_allocation_slack(int on) {
    jw_set_large_slack(on);
}

const char *__scudo_get_stack_depot_addr(void) {
    return NULL;
}

const char *__scudo_get_region_info_addr(void) {
    return NULL;
}

const char *__scudo_get_ring_buffer_addr(void) {
    return NULL;
}

size_t __scudo_get_stack_depot_size(void) {
    return 0;
}

size_t __scudo_get_ring_buffer_size(void) {
    return 0;
}
/* NOLINTEND(bugprone-reserved-identifier) */

#endif
