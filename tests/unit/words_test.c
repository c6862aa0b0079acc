/* words_test.c - the packed words, bit by bit, as the drawings in their headers show them: what each function makes of
 * a word, and reads in it. */
#include "unit.h"

#include "backend/directory.h"
#include "backend/range_cache.h"
#include "backend/reclaimer_words.h"
#include "backend/slot_word.h"
#include "frontend/cross_list.h"
#include "frontend/heap_key.h"
#include "frontend/remote_work.h"
#include "midend/mid_hold.h"
#include "midend/mid_word.h"

static void a_leaf(void **state) {
    (void)state;
    assert_int_equal(leaf_none().raw, 0);
    assert_int_equal(leaf_held().raw, 0x60000000);
    assert_int_equal(leaf_free(5).raw, 0x15000000);
    assert_int_equal(leaf_mid(9).raw, 0x29000000);
    assert_int_equal(leaf_large(7).raw, 0x30000007);
    assert_int_equal(leaf_interior(3, 9).raw, 0x43000009);
    assert_int_equal(leaf_deferred(false, true).raw, 0x50000000);
    assert_int_equal(leaf_deferred(true, true).raw, 0x51000000);
    assert_int_equal(leaf_deferred(false, false).raw, 0x54000000);
    assert_int_equal(leaf_deferred(true, false).raw, 0x55000000);
    assert_int_equal(leaf_slab(0x1fffe).raw, 0x8001fffe);
    assert_int_equal(leaf_trace_here(6).raw, 0x00800006);
    assert_int_equal(leaf_trace_before(6).raw, 0x00400006);
    assert_int_equal(leaf_sealed(2, 4096).raw, 0x72000200);
}

static void what_a_leaf_says(void **state) {
    (void)state;
    for (enum leaf_kind kind = NONE; kind <= SEALED; kind++) {
        struct leaf_word leaf = {(uint32_t)kind << 28 | 0x0f923456};
        assert_int_equal(leaf_kind(leaf), kind);
        assert_false(leaf_is_slab(leaf));
        assert_true(leaf_nest(leaf) == 15 && leaf_class(leaf) == 15 && leaf_sealed_tier(leaf) == 15);
        assert_int_equal(leaf_is_mid(leaf, 15), kind == MID);
        assert_false(leaf_is_mid(leaf, 14));
        assert_true(leaf_offset(leaf) == 0x923456 && leaf_previous(leaf) == 0x923456);
        assert_int_equal(leaf_start(0xa00000, leaf), kind == INTERIOR ? 0xa00000 - 0x923456 : 0xa00000);
        assert_int_equal(leaf_sealed_size(leaf), 8 * 0x923456);
        assert_int_equal(leaf_with_previous(leaf, 0x111111).raw, (uint32_t)kind << 28 | 0x0f111111);
        leaf.raw ^= 0x0f000000; /* a trace has a payload of 24 bits */
        assert_int_equal(leaf_traced_here(leaf), kind == NONE ? 0x123456 : 0);
        assert_int_equal(leaf_traced_before(leaf), 0); /* bit 22 is not set */
        leaf.raw ^= 0xc00000;
        assert_int_equal(leaf_traced_here(leaf), 0);
        assert_int_equal(leaf_traced_before(leaf), kind == NONE ? 0x123456 : 0);
    }
    assert_true(leaf_is_slab(leaf_slab(1)) && leaf_is_slab(leaf_slab(0)));
    for (unsigned bits = 0; bits < 4; bits++) {
        struct leaf_word leaf = leaf_deferred(bits & 1, bits & 2);
        assert_int_equal(leaf_is_unmapped(leaf), bits & 1);
        assert_int_equal(leaf_is_acquired(leaf), bits >> 1);
    }
    assert_true(leaf_same(leaf_mid(1), leaf_mid(1)) && !leaf_same(leaf_mid(1), leaf_mid(2)));
}

static void a_link(void **state) {
    (void)state;
    struct range_link all = {0xffffffff}, none = {0}, link = {0xa5123456};
    assert_int_equal(range_link_made(10, 5).raw, 0x5a000000);
    assert_int_equal(range_link_made(15, 7).raw, 0x7f000000);
    assert_true(range_link_unit(link) == 5 && range_link_slot(link) == 2 && range_link_following(link) == 0x123456);
    assert_true(range_link_unit(all) == 15 && range_link_slot(all) == 7 && range_link_following(all) == 0xffffff);
    assert_true(range_link_in_list(link) && !range_link_in_list((struct range_link){0x7fffffff}));
    assert_int_equal(range_link_with_following(all, 0x222222).raw, 0xff222222);
    assert_int_equal(range_link_with_following(none, 0x222222).raw, 0x00222222);
    assert_int_equal(range_link_with_list(all, 0x222222, false).raw, 0x7f222222);
    assert_int_equal(range_link_with_list(none, 0x222222, true).raw, 0x80222222);
    assert_int_equal(range_link_with_position(all, none).raw, 0x80ffffff);
    assert_int_equal(range_link_with_position(none, all).raw, 0x7f000000);
}

/* The slots of a node that has these codes, as the digits of a number to the base 3. */
static struct node_word node_of_digits(unsigned digits) {
    static const enum slot_code codes[] = {CONTINUES, END, LEFT};
    struct node_word node = {0x7f000000};
    for (unsigned slot = 0; slot < NODE_SLOTS; slot++, digits /= 3)
        node = node_with(node, node_slot(slot), codes[slot == 0 && digits % 3 == 0 ? 1 : digits % 3]);
    return node;
}

static void a_node(void **state) {
    (void)state;
    struct range_link link = {0xda123456};
    struct node_word all = {0xffffffff};
    assert_int_equal(node_of_link(link).raw, 0x5a000000);
    assert_int_equal(node_position((struct node_word){link.raw}).raw, 0x5a000000);
    for (unsigned one = 0; one < NODE_SLOTS; one++) {
        assert_int_equal(node_slot(one), 3 * one);
        for (unsigned other = 0; other < NODE_SLOTS; other++)
            assert_int_equal(node_slots_between(3 * one, 3 * other), other - one);
        for (enum slot_code code = CONTINUES; code <= LEFT; code++) {
            struct node_word node = node_with(all, 3 * one, code);
            assert_int_equal(node.raw, ~((LEFT - (uint32_t)code) << 3 * one));
            for (unsigned other = 0; other < NODE_SLOTS; other++)
                assert_int_equal(node_code(node, 3 * other), other == one ? code : LEFT);
            for (unsigned count = 1; one + count <= NODE_SLOTS; count++) {
                uint32_t codes = 0;
                for (unsigned slot = one; slot < one + count; slot++) codes |= (uint32_t)code << 3 * slot;
                assert_int_equal(node_codes(one, count, code), codes);
            }
        }
    }
    assert_int_equal(node_code(all, node_slot(NODE_SLOTS)), END);
    assert_int_equal(node_with_codes((struct node_word){0x5a000001}, 0x38).raw, 0x5a000039);
}

static void neighbours_in_a_node(void **state) {
    (void)state;
    for (unsigned digits = 0; digits < 6561; digits++) {
        struct node_word node = node_of_digits(digits);
        for (unsigned slot = 0; slot < NODE_SLOTS; slot++) {
            unsigned end = slot + 1, left = slot ? slot - 1 : 0;
            while (end < NODE_SLOTS && node_code(node, node_slot(end)) == CONTINUES) end++;
            while (left > 0 && node_code(node, node_slot(left)) == CONTINUES) left--;
            assert_int_equal(node_end(node, node_slot(slot)), node_slot(end));
            assert_int_equal(node_left(node, node_slot(slot)), node_slot(left));
        }
    }
}

static void a_slot_of_the_window(void **state) {
    (void)state;
    const char *root = (const char *)(3 * (uintptr_t)ROOT_SIZE), *last = root + ROOT_SIZE - 1;
    uintptr_t word = (uintptr_t)root;
    assert_true(slot_gone(root) == word + 1 && slot_disowned(root) == word + 2 && slot_sealed(root) == word + 4);
    assert_true(slot_is_claimed(word) && slot_is_claimed(word + 2) && slot_is_claimed(word + 4));
    assert_false(slot_is_claimed(0) || slot_is_claimed(word + 1));
    assert_true(slot_is_gone(word + 1, root) && slot_is_gone(word + 1, last));
    assert_false(slot_is_gone(word + 1, root - 1) || slot_is_gone(word + 1, last + 1) || slot_is_gone(word, root));
#if JW_SEAL
    assert_true(slot_is_sealed(word + 4) && slot_has_sealed(word + 4, root) && slot_has_sealed(word + 4, last));
    assert_false(slot_is_sealed(word + 3) || slot_has_sealed(word, root));
    assert_false(slot_has_sealed(word + 4, root - 1) || slot_has_sealed(word + 4, last + 1));
#endif
}

static void a_huge_object(void **state) {
    (void)state;
    assert_int_equal(huge_word_of(5), 10);
    assert_true(huge_word_granules(10) == 5 && huge_word_granules(11) == 5);
    assert_true(huge_word_with_gone(10) == 11 && huge_word_with_gone(11) == 11);
    assert_true(huge_word_is_gone(11) && huge_word_is_gone(1) && !huge_word_is_gone(10) && !huge_word_is_gone(0));
    assert_true(huge_word_is_live(10) && !huge_word_is_live(11) && !huge_word_is_live(0));
}

static uint32_t raw_of(const struct mid_state *mid) {
    return mid_word_get(mid).raw;
}

enum { LISTED = 1 << 30, BACK = 1 << 29, SEEN = 1 << 28 };
static const uint32_t HELD_ONE = 1u << 31;

static void a_mid_slab(void **state) {
    (void)state;
    struct mid_state mid;
    struct mid_word word;
    mid_word_make(&mid, 7);
    assert_int_equal(raw_of(&mid), LISTED + 7);
    assert_true(mid_is_empty(mid_word_get(&mid), 7) && !mid_is_empty(mid_word_get(&mid), 15));
    assert_true(mid_word_mark(&mid, mid_word_get(&mid), false));
    assert_int_equal(raw_of(&mid), LISTED + SEEN + 7);
    assert_true(mid_word_mark(&mid, mid_word_get(&mid), true));
    assert_int_equal(raw_of(&mid), LISTED + SEEN + BACK + 7);
    assert_false(mid_is_empty(mid_word_get(&mid), 7));
    assert_false(mid_word_mark(&mid, (struct mid_word){LISTED + 7}, true)); /* another word by now */
    assert_int_equal(mid_word_allocate(&mid, false, &word), 0);
    assert_true(raw_of(&mid) == LISTED + 6 && word.raw == LISTED + 6);
    assert_int_equal(mid_word_allocate(&mid, true, &word), 1);
    assert_true(raw_of(&mid) == HELD_ONE + LISTED + 4 && word.raw == HELD_ONE + LISTED + 4);
    assert_true(mid_word_allocate_held(&mid, 4) && raw_of(&mid) == HELD_ONE + LISTED);
    assert_false(mid_word_allocate_held(&mid, 4));
    assert_true(mid_word_free_held(&mid, 2) && raw_of(&mid) == HELD_ONE + LISTED + 2);
    assert_false(mid_word_free_held(&mid, 2));
    assert_int_equal(mid_word_leave(&mid).raw, LISTED + 2);
    assert_int_equal(raw_of(&mid), LISTED + 2);
    assert_int_equal(mid_word_allocate(&mid, true, &word), 1); /* the last one: nothing is held */
    assert_true(raw_of(&mid) == 0 && word.raw == 0);
    assert_true(mid_word_free(&mid, 2, &word) && word.raw == 0 && raw_of(&mid) == LISTED + 2);
    assert_false(mid_word_free(&mid, 2, &(struct mid_word){LISTED + 2}));
    assert_true(mid_word_free(&mid, 4, &word) && word.raw == LISTED + 2 && raw_of(&mid) == LISTED + 6);
    assert_int_equal(mid_freed((struct mid_word){HELD_ONE + LISTED + BACK + SEEN + 1}, 8).raw, HELD_ONE + LISTED + 9);
    assert_int_equal(mid_word_allocate_all(&mid), 6);
    assert_int_equal(raw_of(&mid), LISTED);
    mid_word_note(&mid, (struct mid_word){HELD_ONE + LISTED});
    assert_int_equal(mid_word_leave(&mid).raw, 0);
    assert_int_equal(raw_of(&mid), 0);
    mid_word_make(&mid, 1);
    mid_word_retire(&mid);
    assert_int_equal(raw_of(&mid), 0);
}

static void what_a_mid_slab_says(void **state) {
    (void)state;
    for (unsigned bit = 0; bit < 32; bit++) {
        struct mid_word word = {1u << bit};
        assert_true(mid_is_held(word) == (bit == 31) && mid_is_listed(word) == (bit == 30));
        assert_true(mid_is_given_back(word) == (bit == 29) && mid_is_seen(word) == (bit == 28));
        assert_int_equal(mid_free_bits(word), bit < 28 ? 1u << bit : 0);
        assert_true(mid_has_free(word, 1u << bit) && !mid_has_free(word, ~(1u << bit)));
        assert_true(mid_same(word, word) && !mid_same(word, mid_full()));
        if (!RANDOM_ORDER) assert_int_equal(mid_choose(~(uint32_t)0 << bit), bit);
    }
}

static void a_hold(void **state) {
    (void)state;
    struct mid_hold hold = {0};
    assert_true(mid_hold_look(&hold) == 0 && mid_hold_enter(&hold) == 0 && mid_hold_end(&hold) == 0);
    mid_hold_begin(&hold, 0xfffffe);
    assert_int_equal(hold.raw, 0xfffffe);
    assert_int_equal(mid_hold_enter(&hold), 0xfffffe);
    assert_int_equal(hold.raw, 0x1fffffe);
    assert_int_equal(mid_hold_look(&hold), 0xfffffe);
    assert_int_equal(mid_hold_enter(&hold), 0); /* another round is there */
    assert_true(mid_hold_exit(&hold, 0xfffffe) && hold.raw == 0xfffffe);
    assert_true(mid_hold_end(&hold) == 0xfffffe && hold.raw == 0);
    mid_hold_begin(&hold, 5);
    mid_hold_enter(&hold);
    assert_true(mid_hold_end(&hold) == 0 && hold.raw == 0); /* the round leaves the slab */
    assert_false(mid_hold_exit(&hold, 5));
    assert_int_equal(hold.raw, 0);
}

static uint32_t raw_of_cross(const struct cross_list *list) {
    return cross_get(list).raw;
}

static void a_cross_list(void **state) {
    (void)state;
    static _Alignas(16) char slab[64];
    char *origin = slab - 1;
    struct cross_list list;
    unsigned count = 9;
    cross_init(&list, (struct cross_word){0});
    cross_format(&list);
    assert_int_equal(raw_of_cross(&list), 0x80000000);
    assert_true(cross_drain(&list, origin, &count) == origin && count == 0 && raw_of_cross(&list) == 0x80000000);
    assert_false(cross_push(&list, origin, slab + 16, 1)); /* a mark is for the slow push */
    assert_true(cross_push_slowly(&list, origin, slab + 16, 1));
    assert_int_equal(raw_of_cross(&list), 0x00010011);
    assert_true(cross_push(&list, origin, slab + 48, 1));
    assert_int_equal(raw_of_cross(&list), 0x00020031);
    assert_false(cross_push_slowly(&list, origin, slab, 1));
    assert_int_equal(raw_of_cross(&list), 0x00030001);
    assert_false(cross_mark_full(&list));
    assert_true(cross_drain(&list, origin, &count) == slab && count == 3 && raw_of_cross(&list) == 0);
    assert_true(cross_mark_full(&list) && raw_of_cross(&list) == 0x80000000);
    cross_empty(&list);
    assert_int_equal(raw_of_cross(&list), 0);
}

static void a_watched_cross_list(void **state) {
    (void)state;
    static _Alignas(16) char slab[64];
    char *origin = slab - 1;
    struct cross_list list = {0x00030011};
    struct cross_word word = {0x00020011};
    uint32_t noted = remote_work_count();
    assert_false(cross_watch(&list, &word)); /* and tells the word */
    assert_true(word.raw == 0x00030011 && cross_watch(&list, &word));
    assert_true(raw_of_cross(&list) == 0x40030011 && word.raw == 0x40030011);
    assert_true(cross_unwatch(&list) && raw_of_cross(&list) == 0x00030011 && !cross_unwatch(&list));
    assert_int_equal(cross_watch_again(&list).raw, 0x00030011);
    assert_int_equal(raw_of_cross(&list), 0x40030011);
    assert_false(cross_push_slowly(&list, origin, slab + 32, 1));
    assert_true(raw_of_cross(&list) == 0x00040021 && remote_work_count() == noted + 1);
    for (unsigned given = 0; given < 2; given++) {
        cross_init(&list, (struct cross_word){0x40030011});
        assert_false(cross_begin_giving(&list, (struct cross_word){0x40020011}));
        assert_true(cross_begin_giving(&list, (struct cross_word){0x40030011}));
        assert_int_equal(raw_of_cross(&list), 0x40030002);
        cross_end_giving(&list, given);
        assert_int_equal(raw_of_cross(&list), given ? 0x40030004 : 0x40030006);
        assert_int_equal(cross_get_after_round(&list).raw, given ? 0x40030004 : 0x40030006);
    }
}

static void what_a_cross_list_says(void **state) {
    (void)state;
    for (uint32_t low = 0; low < 8; low++)
        for (uint32_t marks = 0; marks < 4; marks++) {
            struct cross_word word = {marks << 30 | 0x3fff0000 | low};
            assert_true(cross_is_full(word) == (marks >= 2) && cross_is_watched(word) == (marks % 2 == 1));
            assert_int_equal(cross_count_of(word), 0x3fff);
            assert_int_equal(cross_without_marks(word).raw, 0x3fff0000 | low);
            assert_int_equal(cross_is_taken(word), low == 2 || low == 4 || low == 6);
            assert_int_equal(cross_is_giving(word), low == 2);
            assert_int_equal(cross_is_kept(word), low == 6);
        }
}

static void a_cached_range(void **state) {
    (void)state;
    assert_int_equal(range_cache_with_old(0xfffffe), 0x1fffffe);
    assert_true(range_cache_range(0x1fffffe) == 0xfffffe && range_cache_range(0xfffffe) == 0xfffffe);
    assert_true(range_cache_is_old(0x1fffffe) && !range_cache_is_old(0xfffffe));
}

static void a_key(void **state) {
    (void)state;
    uint64_t before = frontend_key;
    for (unsigned flips = 0; flips < 2; flips++) {
        frontend_key = flips ? 0x123456789abcdef0 : 0;
        uint32_t common = (uint32_t)frontend_key;
        assert_int_equal(key_made(0x1ffff, 0) | 0x80000000, (common ^ 0x1ffff) | 0x80000000);
        assert_int_equal(key_made(3, 0xffffffff) & 0x7fffffff, (common ^ 0x7ffe0003) & 0x7fffffff);
        assert_int_equal(key_made(3, 0) & 0x7fffffff, (common ^ 3) & 0x7fffffff);
        assert_true(key_made(3, 0) >> 31 == 1 && key_made(3, 0xffffffff) >> 31 == 1);
        assert_true(key_number(key_made(0x12345, 0xffffffff)) == 0x12345 && key_number(key_made(0, 7)) == 0);
    }
    frontend_key = before;
}

static void work_that_is_over(void **state) {
    (void)state;
    reclaimer_forget();
    assert_true(reclaimer_works_over() == 0 && !reclaimer_is_at_work());
    reclaimer_begin_work();
    reclaimer_begin_work();
    assert_int_equal(reclaimer->at_work, 2);
    reclaimer_end_work();
    assert_int_equal(reclaimer->at_work, 0x10001);
    assert_true(reclaimer_works_over() == 1 && reclaimer_is_at_work());
    reclaimer_end_work();
    assert_true(reclaimer->at_work == 0x20000 && reclaimer_works_over() == 2 && !reclaimer_is_at_work());
    reclaimer_end_work(); /* a fork in the midst has lost the begin */
    assert_int_equal(reclaimer->at_work, 0);
}

static void waits_and_turns(void **state) {
    (void)state;
    static const uint32_t quiet[] = {0, 1, 255, 256, 257, 511, 512, 7 * 256 + 3};
    for (unsigned i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        reclaimer_announce_wait(quiet[i]);
        assert_true(reclaimer_sleeps() == (quiet[i] > 0) && reclaimer_patience() == quiet[i] / 256);
    }
    reclaimer_forget();
    reclaimer_wake();
    assert_true(reclaimer->wakeup == 1 && reclaimer_take_wakeup() && !reclaimer_take_wakeup());
    reclaimer_wake_to_end();
    assert_true(reclaimer->wakeup == 1 && reclaimer_take_wakeup() && reclaimer->wakeup == 0);
    reclaimer_ask();
    reclaimer_ask();
    assert_true(reclaimer->round_asked == 1 && reclaimer_is_asked() && reclaimer_last_look_is_asked());
    assert_true(reclaimer_take_request() && !reclaimer_take_request() && !reclaimer_last_look_is_asked());
    atomic_store(&reclaimer->brief_stops, 2);
    assert_true(reclaimer_stopped_briefly() && reclaimer_begin_turn() && !reclaimer_begin_turn());
    assert_int_equal(reclaimer->in_round, 1);
    reclaimer_end_turn();
    assert_true(reclaimer->in_round == 0 && !reclaimer_stopped_briefly());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leaf),
        cmocka_unit_test(what_a_leaf_says),
        cmocka_unit_test(a_link),
        cmocka_unit_test(a_node),
        cmocka_unit_test(neighbours_in_a_node),
        cmocka_unit_test(a_slot_of_the_window),
        cmocka_unit_test(a_huge_object),
        cmocka_unit_test(a_mid_slab),
        cmocka_unit_test(what_a_mid_slab_says),
        cmocka_unit_test(a_hold),
        cmocka_unit_test(a_cross_list),
        cmocka_unit_test(a_watched_cross_list),
        cmocka_unit_test(what_a_cross_list_says),
        cmocka_unit_test(a_cached_range),
        cmocka_unit_test(a_key),
        cmocka_unit_test(work_that_is_over),
        cmocka_unit_test(waits_and_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
