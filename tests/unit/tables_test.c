/* tables_test.c - which parts of the growing tables are mapped, in which order, and what a refusal leaves
 * (page_map.c). */
#include "growing_tables.h"

#include <sys/mman.h>

#include "backend/page_map_tables.h"
#include "base/align.h"

enum { RECORDS, LEAF, NODE, LINK, OWNERS, TABLES, ASKED_MOST = 64 };
#define LOW ((size_t)1 << (JW_FIRST_WINDOW_SHIFT - 1 - JW_GRANULE_SHIFT)) /* granules at first */
#define TABLE_ROOM ((size_t)RECORD_SIZE << (JW_WINDOW_SHIFT - JW_GRANULE_SHIFT))

static struct {
    char *start;
    size_t size;
    bool writes;
} asked[ASKED_MOST];
static unsigned asked_count, refused_at = ASKED_MOST; /* the request that gets this answer, and those behind it */
static enum platform_reserved answer;

enum platform_reserved __wrap_platform_reserve_at(void *address, size_t size, bool writes, const char *name) {
    CHECK(asked_count < ASKED_MOST && strcmp(name, "jwmalloc: records") == 0);
    asked[asked_count].start = address;
    asked[asked_count].size = size;
    asked[asked_count].writes = writes;
    return asked_count++ >= refused_at ? answer : __real_platform_reserve_at(address, size, writes, name);
}

void __real_platform_huge_pages(void *address, size_t size, bool wanted);
void __wrap_platform_huge_pages(void *address, size_t size, bool wanted);

static unsigned told; /* of how many requests the system was told at once that huge pages are not wanted */

void __wrap_platform_huge_pages(void *address, size_t size, bool wanted) {
    unsigned last = asked_count - 1;
    told += !wanted && asked_count > 0 && address == asked[last].start && size == asked[last].size;
    __real_platform_huge_pages(address, size, wanted);
}

static unsigned looked_at; /* requests that the script has looked at */

/* The next request was for the entries of granules from `from` up to `to`, unless pages before have them. */
static void was_asked(unsigned table, size_t from, size_t to) {
    size_t page = platform_page_size(), unit = table == RECORDS ? RECORD_SIZE : sizeof(table_word);
    size_t start = table == OWNERS ? from / ROOT_GRANULES * sizeof(uintptr_t) : from * unit;
    size_t end = table == OWNERS ? to / ROOT_GRANULES * sizeof(uintptr_t) : to * unit;
    start = align_up(start, page);
    end = align_up(end, page);
    if (start == end) return;
    CHECK(looked_at < asked_count);
    CHECK(asked[looked_at].start == page_map.records + table * TABLE_ROOM + start);
    CHECK(asked[looked_at].size == end - start && asked[looked_at].writes == (table != RECORDS));
    looked_at++;
}

static void no_more_was_asked(void) {
    CHECK(looked_at == asked_count && told == asked_count);
    looked_at = told = asked_count = 0;
}

/* Both parts of the tables from `first` up to `end`: so many granules from the given place on in each. */
static void parts_were_asked(unsigned first, unsigned end, size_t far, size_t from, size_t to) {
    for (unsigned table = first; table < end; table++) {
        was_asked(table, from, to);
        if (far) was_asked(table, far + from, far + to);
    }
}

static void begin(void) {
    size_t far = LOW << power, low = power > 0 ? LOW : 2 * LOW;
    parts_were_asked(RECORDS, TABLES, power > 0 ? far : 0, 0, low);
    no_more_was_asked();
    CHECK(page_map_covered() == (power > 0 ? far + LOW - 1 : 2 * LOW - 1));
    CHECK((char *)page_map.leaf == page_map.records + LEAF * TABLE_ROOM);
    CHECK((char *)page_map.node == page_map.records + NODE * TABLE_ROOM);
    CHECK((char *)page_map.link == page_map.records + LINK * TABLE_ROOM);
    CHECK((char *)page_map.slot_owner == page_map.records + OWNERS * TABLE_ROOM);
    CHECK((uintptr_t)page_map.base % ((uint64_t)1 << JW_WINDOW_SHIFT) == 0);
}

static void two_parts_are_there_at_first(void **state) {
    (void)state;
    for (power = 0; power <= JW_WINDOW_SHIFT - JW_FIRST_WINDOW_SHIFT; power++) run(begin);
}

static bool records_lag(size_t covered) {
    return covered < RECORDS_LAG && platform_page_size() <= GRANULE_SIZE;
}

/* Doubles all until they are whole. Records follow when the others cover RECORDS_LAG, then each time. */
static void grow(void) {
    size_t low = LOW, far = LOW << power, record_low = LOW, record_far = far,
           whole = (size_t)1 << (JW_WINDOW_SHIFT - 12);
    if (power == 0) low = record_low = 2 * LOW, far = record_far = 0;
    told = asked_count = 0;
    while (low < whole) {
        CHECK(page_map_grow(page_map_covered()));
        if (!records_lag(far ? 2 * low : low))
            while (record_low <= low) {
                parts_were_asked(RECORDS, LEAF, record_far, record_low, 2 * record_low);
                record_low *= 2;
                if (record_far == record_low) record_low *= 2, record_far = 0;
            }
        parts_were_asked(LEAF, TABLES, far, low, 2 * low);
        no_more_was_asked();
        low *= 2;
        if (far == low) low *= 2, far = 0;
        CHECK(page_map_covered() == (far ? far + low - 1 : low - 1));
    }
    CHECK(!page_map_grow(page_map_covered()) && asked_count == 0);
}

static void they_double_until_they_are_whole(void **state) {
    (void)state;
    for (power = 0; power <= JW_WINDOW_SHIFT - JW_FIRST_WINDOW_SHIFT; power++) run(grow);
}

static unsigned refuse_from;

/* The next try finds the parts that the one before has mapped. */
static void refuse(void) {
    size_t before = page_map_covered();
    asked_count = 0;
    refused_at = refuse_from;
    bool grown = page_map_grow(before);
    CHECK(grown == (asked_count <= refuse_from));
    CHECK(page_map_covered() == (grown ? before | LOW : before));
    refused_at = ASKED_MOST;
    if (!grown) CHECK(page_map_grow(before) && page_map_covered() == (before | LOW));
}

static void what_is_refused_is_tried_again(void **state) {
    (void)state;
    power = 5;
    for (unsigned kind = 0; kind < 2; kind++) {
        answer = kind ? RESERVE_TAKEN : RESERVE_REFUSED;
        for (refuse_from = 0; refuse_from < 8; refuse_from++) run(refuse);
    }
    refused_at = ASKED_MOST;
}

/* A foreign mapping is there, however often this thread tries. */
static void find_foreign(void) {
    size_t before = page_map_covered();
    char *place = (char *)page_map.leaf + LOW * sizeof(table_word);
    size_t size = LOW * sizeof(table_word);
    CHECK(mmap(place, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place);
    for (unsigned i = 0; i < 3; i++) CHECK(!page_map_grow(before) && page_map_covered() == before);
    CHECK(munmap(place, size) == 0 && page_map_grow(before));
}

static void foreign_mappings_are_not_ours(void **state) {
    (void)state;
    power = 5;
    run(find_foreign);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_parts_are_there_at_first),
        cmocka_unit_test(they_double_until_they_are_whole),
        cmocka_unit_test(what_is_refused_is_tried_again),
        cmocka_unit_test(foreign_mappings_are_not_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
