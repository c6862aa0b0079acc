/* huge.c - huge objects: mapping, freeing, resizing in place or by moving pages. */
#include "backend/huge.h"

#include "backend/directory.h"
#include "backend/headroom.h"
#include "backend/mapping_cache.h"
#include "backend/page_map.h"
#include "backend/reclaimer.h"
#include "backend/thrift.h"
#include "base/align.h"
#include "base/compiler.h"
#include "base/published.h"
#include "config/options.h"
#include "config/policy.h"
#include "platform/deferred_unmap.h"
#include "platform/misuse.h"
#include "platform/platform.h"

static _Atomic(size_t) mappings, mapped_total;
PUBLISHED(mappings);
PUBLISHED(mapped_total);

/* One object more or less (`number`), or one of another size: `old` bytes are `new` bytes now. */
static void count_huge(intptr_t number, size_t old, size_t new) {
    atomic_fetch_add_explicit(&mappings, (size_t)number, memory_order_relaxed);
    huge_bytes_add((intptr_t)(new - old));
    if (old >= VAST_FROM || new >= VAST_FROM)
        vast_bytes_add((intptr_t)(new >= VAST_FROM ? new : 0) - (intptr_t)(old >= VAST_FROM ? old : 0));
}

/* Sizes and addresses are multiples of this. */
static size_t mapping_unit(void) {
    return platform_page_size() > GRANULE_SIZE ? platform_page_size() : GRANULE_SIZE;
}

size_t huge_good_size(size_t size) {
    size = align_up(size, mapping_unit());
    return size <= PTRDIFF_MAX && size >> JW_GRANULE_SHIFT <= UINT32_MAX ? size : 0;
}

size_t huge_guard(void) {
    return GUARDED ? mapping_unit() : 0;
}

static size_t huge_alignment(size_t alignment) {
    size_t least = option(&options.huge_pages) ? ROOT_SIZE : mapping_unit();
    return alignment < least ? least : alignment;
}

size_t huge_addresses(size_t size, size_t alignment) {
    size = huge_good_size(size);
    return size ? size + huge_guard() + huge_alignment(alignment) - platform_page_size() : 0;
}

static size_t size_of(uintptr_t word) {
    return huge_word_granules(word) << JW_GRANULE_SHIFT;
}

static uintptr_t word_of_size(size_t size) {
    return huge_word_of(size >> JW_GRANULE_SHIFT);
}

static void set_word(const void *object, uintptr_t word) {
    atomic_store_explicit(directory_word(object), word, memory_order_relaxed);
}

/* If the OS refuses the mapping now, rounds offer it again, and so does the next thread that makes a mapping. Until
 * then its first bytes are a link. With spare_callers that is a round's work. Where no thread comes for it, this one
 * does it once too much waits. COLD for its size: a system call follows. */
static COLD void unmap_huge(char *mapping, size_t size) {
    if (unmap_or_defer(mapping, size)) return;
    thrift_wake();
    if (!option(&options.spare_callers) || reclaimer_lives() || deferred_bytes() < SPARED_MOST) return;
    thrift_lift_spare(true);
    unmap_deferred();
    thrift_lift_spare(false);
}

/* The same for a mapping that nobody has used: it takes no time, and so is no round's work with spare_callers. */
static void unmap_unused(char *mapping, size_t size) {
    thrift_lift_spare(true);
    unmap_huge(mapping, size);
    thrift_lift_spare(false);
}

/* Makes a mapping and its directory tables. The directory does not have the object yet. Where no other addresses are
 * left, the kernel maps at those of a closed part (root.h). free would take an object there for one of the root's. */
static char *reserve_mapping_once(size_t size, size_t alignment) {
    char *object = platform_reserve(size + huge_guard(), alignment, "jwmalloc: huge");
    if (!object || (!page_map_owns(object) && directory_make_word(object))) return object;
    unmap_unused(object, size + huge_guard());
    return NULL;
}

/* Whether `fresh` bytes without pages may come into use. Gives back all unused memory if a limit asks for that. */
static NOINLINE wide_bool admit_pages(size_t fresh) {
    size_t granules = fresh >> JW_GRANULE_SHIFT;
    thrift_before_fetch(granules); /* what is placed makes headroom */
    return thrift_admit(granules) || (thrift_make_room(fresh) && limits_admit(granules));
}

/* `fresh`: bytes of the mapping that get new pages. Only these are counted: the others' pages move there. */
static char *reserve_mapping(size_t size, size_t alignment, size_t fresh) {
    size_t addresses = huge_addresses(size, alignment);
    if (!option(&options.spare_callers)) unmap_deferred();
    char *object = reserve_mapping_once(size, alignment);
    if (!object && thrift_make_room(addresses)) object = reserve_mapping_once(size, alignment);
    if (!object) return NULL;
    if (!admit_pages(fresh)) { /* not before: a refused size must drive out no cached memory */
        unmap_unused(object, size + huge_guard());
        return NULL;
    }
    if (option(&options.huge_pages)) platform_huge_pages(object, size, true);
    count_huge(1, size - fresh, size);
    atomic_fetch_add_explicit(&mapped_total, size, memory_order_relaxed);
    return object;
}

/* The largest mapping that may serve the size. */
static size_t largest_mapping_for(size_t size) {
    return size + size / HUGE_ROOM_PART;
}

bool huge_may_serve(size_t usable, size_t size) {
    size_t good = huge_good_size(size);
    return good && usable >= good && (usable == good || (!QUARANTINED && usable <= largest_mapping_for(good)));
}

/* In the hardened build a mapping can only become smaller here. The caller makes the new guard. */
static bool resize_mapping(char *object, size_t old, size_t new) {
    if (!GUARDED) return platform_resize(object, old, new);
    if (new > old || !platform_unmap(object + new + huge_guard(), old - new)) return false;
    platform_discard(object + new, huge_guard());
    return true;
}

/* Caches the mapping, or as much of its start as may wait, and unmaps the rest. False: the caller must unmap all. */
static wide_bool cache_mapping(char *object, size_t size) {
    if (JW_CACHED_MAPPINGS == 0 || size > MAPPING_CACHE_MOST) return false;
    size_t limit = watermark_of_mappings();
    thrift_give_back_mappings(limit);
    size_t room = align_down(watermark_room(limit), mapping_unit());
    struct cached_mapping mapping = {.start = object, .size = size < room ? size : room}, old;
    if (mapping.size < size / HUGE_START_PART || (mapping.size < size && !resize_mapping(object, size, mapping.size)))
        return false;
    if (!mapping_cache_push(&mapping, &old)) {
        old.start = object;
        old.size = mapping.size;
    }
    if (old.start) unmap_huge(old.start, old.size + huge_guard());
    thrift_notice();
    thrift_take_turn();
    return true;
}

/* Caches the mapping of an object that the directory calls gone, or unmaps it where it must not wait. */
static void retire_mapping(char *object, size_t size, bool may_wait) {
    count_huge(-1, size, 0);
    if (!may_wait || !cache_mapping(object, size)) unmap_huge(object, size + huge_guard());
}

/* Marks the object gone, and returns its size. 0: no object in use begins at the address. */
static size_t begin_free_if_live(void *object) {
    uintptr_t word = directory_get(object);
    /* relaxed: of two threads that free the same object only one goes on, and nothing else passes between them */
    if (!huge_word_is_live(word) ||
        !atomic_compare_exchange_strong_explicit(directory_word(object), &word, huge_word_with_gone(word),
                                                 memory_order_relaxed, memory_order_relaxed))
        return 0;
    return size_of(word);
}

bool huge_free_if_live(void *object) {
    size_t size = begin_free_if_live(object);
    if (size > 0) retire_mapping(object, size, true);
    return size > 0;
}

size_t huge_begin_free(void *object) {
    size_t size = begin_free_if_live(object);
    if (size == 0) misuse(INVALID_FREE, object, 0);
    huge_bytes_wait((intptr_t)size);
    return size;
}

/* A mapping that waits to be unmapped begins with a link. */
bool huge_finish_free(char *object, size_t size, bool closed) {
    bool gone = closed && !platform_protect(object, mapping_unit(), true);
    if (gone && !platform_unmap(object, size + huge_guard())) return false;
    huge_bytes_wait(-(intptr_t)size);
    if (gone) count_huge(-1, size, 0);
    else retire_mapping(object, size, true);
    return true;
}

void huge_free(void *object) {
    if (!huge_free_if_live(object)) misuse(INVALID_FREE, object, 0);
}

size_t huge_usable_size(const void *object) {
    uintptr_t word = directory_get(object);
    return huge_word_is_live(word) ? size_of(word) : 0;
}

/* Another thread may get the old addresses as soon as the object has moved, or the addresses of a lost target. So the
 * directory has no object in use at either place during the move. */
static char *move_object(char *object, size_t old, char *target, size_t target_size) {
    set_word(object, huge_word_with_gone(word_of_size(old)));
    enum platform_moved result = platform_move(object, target, old, target_size);
    if (result == MOVED) {
        set_word(target, word_of_size(target_size));
        if (GUARDED) platform_unmap(object + old, huge_guard()); /* if refused, it stays, without access */
        count_huge(-1, 0, 0);
        return target;
    }
    set_word(object, word_of_size(old));
    count_huge(-1, target_size, old);
    if (result == MOVE_REFUSED) unmap_huge(target, target_size + huge_guard());
    else if (GUARDED) unmap_huge(target + target_size, huge_guard());
    return NULL;
}

static wide_bool resize_in_place(void *object, size_t old, size_t new) {
    if (new < old) set_word(object, word_of_size(new)); /* before another thread may get the end's addresses */
    bool resized = resize_mapping(object, old, new);
    set_word(object, word_of_size(resized ? new : old));
    if (resized) count_huge(0, old, new);
    return resized;
}

/* Adds room to grow, which costs only addresses: an object that grows in small steps is seldom moved. 0: too large. */
static size_t with_room(size_t size) {
    return huge_good_size(size + (size / HUGE_ROOM_PART < HUGE_ROOM_MOST ? size / HUGE_ROOM_PART : HUGE_ROOM_MOST));
}

/* Gives back the tail's memory at once. The object keeps the tail's addresses if they are its room to grow, or if the
 * OS refuses to unmap them. No mapping becomes smaller than the largest range: an object that shrinks further moves to
 * a range when it is half of that. */
static void shrink_object(char *object, size_t old, size_t new) {
    size_t least = new > BACKEND_MAX ? new : huge_good_size(BACKEND_MAX + 1);
    if (old > with_room(new) && old > least && resize_in_place(object, old, least)) old = least;
    if (new < old) platform_discard(object + new, old - new);
}

/* Makes the object larger in place, or moves it into a new mapping of `room` bytes, or else of `new` bytes. NULL: it is
 * as before. */
static char *enlarge_object(char *object, size_t old, size_t new, size_t room, size_t alignment) {
    if (!limits_admit((new - old) >> JW_GRANULE_SHIFT) && !admit_pages(new - old)) return NULL;
    if (resize_in_place(object, old, new)) return object;
    for (;; room = new) {
        char *target = room ? reserve_mapping(room, alignment, room - old) : NULL;
        if (target) return move_object(object, old, target, room);
        if (room == new) return NULL;
    }
}

void *huge_resize(void *object, size_t old, size_t size) {
    size_t new = huge_good_size(size);
    if (new == 0) return NULL;
    if (new < old) shrink_object(object, old, new);
    if (new <= old) return object;
    return enlarge_object(object, old, new, with_room(new), huge_alignment(1));
}

/* Gives a mapping of `has` bytes the request's size if it is smaller, or larger by more than an eighth. Its pages stay.
 * NULL: the OS has refused, or a limit has. */
static char *fit_mapping(char *object, size_t has, size_t size, size_t alignment) {
    if (has < size) return enlarge_object(object, has, size, size, alignment);
    return has <= largest_mapping_for(size) || resize_in_place(object, has, size) ? object : NULL;
}

/* Takes a cached mapping. Its pages are counted nowhere now: makes headroom for all if it lacks some. NULL: no mapping
 * suits, or the one that did could not serve, and is unmapped. */
static char *reuse_mapping(size_t size, size_t alignment, size_t *dirty_bytes) {
    struct cached_mapping mapping;
    if (JW_CACHED_MAPPINGS == 0 || size > MAPPING_CACHE_MOST || !mapping_cache_pop(size, alignment, &mapping))
        return NULL;
    bool admitted = mapping.size >= size || admit_pages(size);
    count_huge(1, 0, mapping.size);
    set_word(mapping.start, word_of_size(mapping.size));
    char *object = admitted ? fit_mapping(mapping.start, mapping.size, size, alignment) : NULL;
    if (object) *dirty_bytes = mapping.size;
    else if (begin_free_if_live(mapping.start)) retire_mapping(mapping.start, mapping.size, false);
    return object;
}

void *huge_reuse(size_t size, size_t *dirty_bytes) {
    return reuse_mapping(huge_good_size(size), huge_alignment(1), dirty_bytes);
}

void *huge_allocate(size_t size, size_t alignment, size_t *dirty_bytes) {
    size_t dirty = 0;
    size = huge_good_size(size);
    if (!size) return NULL;
    alignment = huge_alignment(alignment);
    char *object = reuse_mapping(size, alignment, &dirty);
    if (!object) {
        object = reserve_mapping(size, alignment, size);
        if (object) set_word(object, word_of_size(size));
    }
    if (dirty_bytes) *dirty_bytes = dirty;
    return object;
}

COLD char *huge_around(const void *address, bool gone, size_t *size) {
    uintptr_t word;
    char *start = directory_before(address, gone, &word);
    if (!start || (uintptr_t)address - (uintptr_t)start >= size_of(word)) return NULL;
    *size = size_of(word);
    return start;
}

void huge_statistics(struct huge_statistics *statistics) {
    statistics->mappings = atomic_load_explicit(&mappings, memory_order_relaxed);
    statistics->bytes = huge_bytes_in_use();
    statistics->mapped_total = atomic_load_explicit(&mapped_total, memory_order_relaxed);
}
