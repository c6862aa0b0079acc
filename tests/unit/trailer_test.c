/* trailer_test.c - the hardened build's trailers: the keyed function, and that no word stands for another. */
#include "hardened/fill_words.h"
#include "hardened/trailer.h"
#include "unit.h"

struct secrets secrets;

enum { SLOT = 64 };

/* Of CPython 3.11, whose hash() of bytes is SipHash-1-3: with PYTHONHASHSEED=0 (the key is 0), 12345 and 1, whose keys
 * stand here, hash(b"abcdefg"), hash(b"abcd") and hash(b"a"). */
static void siphash_has_the_known_values(void **state) {
    (void)state;
    static const struct {
        uint64_t key[2];
        unsigned length;
        uint64_t value;
    } known[] = {
        {{0x0000000000000000, 0x0000000000000000}, 7, 0x6db12aae9070f506},
        {{0x0000000000000000, 0x0000000000000000}, 4, 0xe3d1d5fdd52aae89},
        {{0x0000000000000000, 0x0000000000000000}, 1, 0x407448d2b89b1813},
        {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 7, 0x2cc75771f0205010},
        {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 4, 0xf840209c1638e72d},
        {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 1, 0xd6300bc9f7cc0e73},
        {{0x25556dc46dc3dca0, 0xfc3ee4dbd06f6c90}, 7, 0x555571eeff658e40},
        {{0x25556dc46dc3dca0, 0xfc3ee4dbd06f6c90}, 4, 0xfdbe3ec2646ba15b},
        {{0x25556dc46dc3dca0, 0xfc3ee4dbd06f6c90}, 1, 0x83a33d688c5cf68f},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint64_t message = 0;
        for (unsigned at = 0; at < known[i].length; at++) message |= (uint64_t)('a' + at) << at * 8;
        assert_true(siphash(known[i].key, message, known[i].length) == known[i].value);
    }
}

static void draw_secrets(uint64_t *random) {
    uint64_t key[2];
    for (unsigned i = 0; i < 2; i++) {
        key[i] = random_next(random);
        secrets.place[i] = random_next(random) | i;
    }
    sip_begin(&secrets.trailer, key);
}

static void a_word_says_what_was_written(void **state) {
    (void)state;
    uint64_t random = 1;
    static _Alignas(16) char object[SLOT];
    for (unsigned i = 0; i < 1000; i++) {
        draw_secrets(&random);
        uint32_t payload =
            (uint32_t)random_next(&random) >> (32 - SHORT_PAYLOAD + random_below(&random, SHORT_PAYLOAD));
        for (enum trailer_state made = LIVE; made <= FREED; made++) {
            struct trailer read;
            uint64_t word = trailer_made(trailer_for(object, SLOT, payload), made);
            assert_int_equal(trailer_read(object, SLOT, word, &read), made);
            assert_true(read.payload == payload && read.hash == trailer_for(object, SLOT, payload).hash);
            /* the end of a string changes the first byte; a string without one ends at the second */
            assert_true((word & 0xff) != 0 && (word >> 8 & 0xff) == 0);
            assert_int_equal(trailer_may_be(object, SLOT, word), payload >> SHORT_SLACK_SHIFT <= SLOT - TRAILER_SIZE);
            assert_false(trailer_may_be(object, SLOT, word ^ 0x100));
            assert_false(trailer_may_be(object, SLOT, word ^ 2));
        }
    }
}

/* Each right one would be by chance, once in 2^25 at least. */
static void every_other_word_is_broken(void **state) {
    (void)state;
    uint64_t random = 2;
    static _Alignas(16) char objects[8][SLOT];
    struct trailer read;
    for (unsigned i = 0; i < 200; i++) {
        draw_secrets(&random);
        uint32_t payload = (uint32_t)random_below(&random, SLOT), another = payload ^ 5;
        for (enum trailer_state made = LIVE; made <= FREED; made++) {
            uint64_t word = trailer_made(trailer_for(objects[0], SLOT, payload), made);
            for (unsigned bit = 0; bit < 64; bit++)
                assert_int_equal(trailer_read(objects[0], SLOT, word ^ (uint64_t)1 << bit, &read), BROKEN);
            for (unsigned other = 1; other < 8; other++)
                assert_int_equal(trailer_read(objects[other], SLOT, word, &read), BROKEN);
            /* the code of the other state or of another payload */
            uint64_t states = (uint64_t)(LIVE ^ FREED) << (PAYLOAD_SHIFT + SHORT_PAYLOAD);
            assert_int_equal(trailer_read(objects[0], SLOT, word ^ states, &read), BROKEN);
            uint64_t payloads = (uint64_t)(payload ^ another) << PAYLOAD_SHIFT;
            assert_int_equal(trailer_read(objects[0], SLOT, word ^ payloads, &read), BROKEN);
            assert_int_equal(trailer_read(objects[0], SLOT, random_next(&random), &read), BROKEN);
            secrets.trailer.v[made & 1] ^= (uint64_t)1 << random_below(&random, 64);
            assert_int_equal(trailer_read(objects[0], SLOT, word, &read), BROKEN);
        }
    }
}

/* What is behind the request's end, of each length: the first bytes are filled, and no other byte changes. */
static void a_slack_is_filled_and_checked(void **state) {
    (void)state;
    static _Alignas(16) char slot[SLOT];
    for (size_t slack = 0; slack <= SLOT - TRAILER_SIZE; slack++) {
        char *end = slot + SLOT - TRAILER_SIZE - slack;
        memset(slot, 0x11, sizeof slot);
        slack_fill(end, slack, 0x77);
        assert_true(slack_is_filled(end, slack, 0x77));
        assert_true(filled(slack) == slack || (filled(slack) <= FILLED_MOST && slack > FILLED_MOST - 8));
        assert_int_equal(fill_left(end, slack, 0x77), filled(slack));
        for (char *byte = slot; byte < slot + SLOT; byte++) {
            bool inside = byte >= end && byte < end + filled(slack);
            assert_int_equal(*byte, inside ? 0x77 : 0x11);
            *byte ^= 1;
            assert_int_equal(slack_is_filled(end, slack, 0x77), !inside);
            *byte ^= 1;
        }
    }
}

static void a_byte_that_is_not_zero_is_seen(void **state) {
    (void)state;
    static _Alignas(16) char slot[4 * SLOT];
    for (size_t size = 0; size <= sizeof slot; size += 8) {
        assert_true(is_zero(slot, size));
        for (size_t at = 0; at < sizeof slot; at++) {
            slot[at] = 1;
            assert_int_equal(is_zero(slot, size), at >= size);
            slot[at] = 0;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(siphash_has_the_known_values),    cmocka_unit_test(a_word_says_what_was_written),
        cmocka_unit_test(every_other_word_is_broken),      cmocka_unit_test(a_slack_is_filled_and_checked),
        cmocka_unit_test(a_byte_that_is_not_zero_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
