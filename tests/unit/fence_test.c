/* fence_test.c - mappings for metadata (platform/fence.h): what is asked of the system, in the plain build and in the
 * hardened one, whose mappings have a page without access on both sides. */
#include "unit.h"

#include "platform/fence.h"

enum { PAGES = 3, FENCES = GUARDED ? 2 : 0 };

static unsigned protects, no_access, refuses_access;
static char *last_protected;

bool __real_platform_protect(void *start, size_t size, bool access);
bool __wrap_platform_protect(void *start, size_t size, bool access);

bool __wrap_platform_protect(void *start, size_t size, bool access) {
    protects++;
    no_access += !access;
    last_protected = start;
    assert_int_equal(size, platform_page_size());
    return (!access || !refuses_access) && __real_platform_protect(start, size, access);
}

static char *reserve(size_t size) {
    size_t before = sim_reserved(), page = platform_page_size();
    protects = no_access = 0;
    char *start = fenced_reserve(size, "test");
    assert_non_null(start);
    assert_int_equal(protects, FENCES);
    assert_int_equal(no_access, FENCES);
    if (GUARDED) assert_ptr_equal(last_protected, start + size);
    assert_int_equal(sim_reserved(), before + size + FENCES * page);
    memset(start, 1, size);
    protects = no_access = 0;
    return start;
}

static void the_mapping_goes_with_its_fences(void **state) {
    (void)state;
    size_t before = sim_reserved(), page = platform_page_size();
    char *start = reserve(PAGES * page);
    fenced_unmap(start, PAGES * page);
    assert_int_equal(sim_reserved(), before);
    assert_int_equal(protects, FENCES / 2); /* only the first page is written to */
    assert_int_equal(no_access, 0);
    if (GUARDED) assert_ptr_equal(last_protected, start - page);
}

/* Without access to the first page nothing could be noted there. */
static void refused_access_leaves_the_fences(void **state) {
    (void)state;
    size_t before = sim_reserved(), page = platform_page_size();
    char *start = reserve(PAGES * page);
    refuses_access = true;
    fenced_unmap(start, PAGES * page);
    refuses_access = false;
    assert_int_equal(sim_reserved(), before + FENCES * page);
}

static void a_refused_unmap_waits_with_its_fences(void **state) {
    (void)state;
    size_t before = sim_reserved(), page = platform_page_size();
    char *start = reserve(PAGES * page);
    sim_fail_only(SIM_UNMAP);
    sim_fail_after(0);
    fenced_unmap(start, PAGES * page);
    sim_fail_after(SIM_NEVER);
    assert_int_equal(sim_reserved(), before + (PAGES + FENCES) * page);
    unmap_deferred();
    assert_int_equal(sim_reserved(), before);
}

static void what_is_refused_asks_for_nothing_more(void **state) {
    (void)state;
    protects = 0;
    sim_fail_only(SIM_RESERVE);
    sim_fail_after(0);
    assert_null(fenced_reserve(platform_page_size(), "test"));
    sim_fail_after(SIM_NEVER);
    assert_int_equal(protects, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mapping_goes_with_its_fences),
        cmocka_unit_test(refused_access_leaves_the_fences),
        cmocka_unit_test(a_refused_unmap_waits_with_its_fences),
        cmocka_unit_test(what_is_refused_asks_for_nothing_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
