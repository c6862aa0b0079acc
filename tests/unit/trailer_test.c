/* trailer_test.c - the hardened build's trailers: the keyed functions, and that no word stands for another. */
#ifdef TRAILER_FAST /* else the checked build's forms, without AES */
#undef JW_CHECKED
#define JW_CHECKED 0
#endif
#ifdef TRAILER_WIDE /* as entry_wide.c */
#define JW_WIDE_HERE
#include "platform/wide.h"
WIDE_BEGINS
#endif
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

/* In turn for each way that this processor has. */
static enum keyed_way draw_secrets(uint64_t *random, unsigned turn) {
    uint64_t key[2];
    for (unsigned i = 0; i < 2; i++) key[i] = random_next(random);
    secrets.place = random_next(random) | 1;
    sip_begin(&secrets.sip, key);
    for (unsigned i = 0; i <= AES_ROUNDS; i++)
        secrets.aes.round[i] = (aes_block){random_next(random), random_next(random)};
#if JW_AES
    secrets.has_aes = aes_is_there() && turn % 2;
#endif
    (void)turn;
    return keyed_way();
}

/* Changes a bit of the secret that is in use; not of the last round keys, which only change some bits of the result. */
static void change_secret(uint64_t random) {
    uint64_t bit = (uint64_t)1 << random % 64;
    secrets.sip.v[random >> 6 & 3] ^= bit;
    secrets.aes.round[(random >> 6) % (AES_ROUNDS - 2)][random >> 10 & 1] ^= bit;
}

#if JW_AES
/* The example of FIPS 197, appendix B: the expanded key and the result. */
static void aes_has_the_known_value(void **state) {
    (void)state;
    static const uint8_t expanded[AES_ROUNDS + 1][16] = {
        {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c},
        {0xa0, 0xfa, 0xfe, 0x17, 0x88, 0x54, 0x2c, 0xb1, 0x23, 0xa3, 0x39, 0x39, 0x2a, 0x6c, 0x76, 0x05},
        {0xf2, 0xc2, 0x95, 0xf2, 0x7a, 0x96, 0xb9, 0x43, 0x59, 0x35, 0x80, 0x7a, 0x73, 0x59, 0xf6, 0x7f},
        {0x3d, 0x80, 0x47, 0x7d, 0x47, 0x16, 0xfe, 0x3e, 0x1e, 0x23, 0x7e, 0x44, 0x6d, 0x7a, 0x88, 0x3b},
        {0xef, 0x44, 0xa5, 0x41, 0xa8, 0x52, 0x5b, 0x7f, 0xb6, 0x71, 0x25, 0x3b, 0xdb, 0x0b, 0xad, 0x00},
        {0xd4, 0xd1, 0xc6, 0xf8, 0x7c, 0x83, 0x9d, 0x87, 0xca, 0xf2, 0xb8, 0xbc, 0x11, 0xf9, 0x15, 0xbc},
        {0x6d, 0x88, 0xa3, 0x7a, 0x11, 0x0b, 0x3e, 0xfd, 0xdb, 0xf9, 0x86, 0x41, 0xca, 0x00, 0x93, 0xfd},
        {0x4e, 0x54, 0xf7, 0x0e, 0x5f, 0x5f, 0xc9, 0xf3, 0x84, 0xa6, 0x4f, 0xb2, 0x4e, 0xa6, 0xdc, 0x4f},
        {0xea, 0xd2, 0x73, 0x21, 0xb5, 0x8d, 0xba, 0xd2, 0x31, 0x2b, 0xf5, 0x60, 0x7f, 0x8d, 0x29, 0x2f},
        {0xac, 0x77, 0x66, 0xf3, 0x19, 0xfa, 0xdc, 0x21, 0x28, 0xd1, 0x29, 0x41, 0x57, 0x5c, 0x00, 0x6e},
        {0xd0, 0x14, 0xf9, 0xa8, 0xc9, 0xee, 0x25, 0x89, 0xe1, 0x3f, 0x0c, 0xc8, 0xb6, 0x63, 0x0c, 0xa6}};
    static const uint8_t message[16] = {0x32, 0x43, 0xf6, 0xa8, 0x88, 0x5a, 0x30, 0x8d,
                                        0x31, 0x31, 0x98, 0xa2, 0xe0, 0x37, 0x07, 0x34};
    static const uint8_t coded[16] = {0x39, 0x25, 0x84, 0x1d, 0x02, 0xdc, 0x09, 0xfb,
                                      0xdc, 0x11, 0x85, 0x97, 0x19, 0x6a, 0x0b, 0x32};
    if (!aes_is_there()) return;
    struct aes_keys keys;
    aes_block block;
    memcpy(&keys, expanded, sizeof keys);
    memcpy(&block, message, sizeof block);
    block = aes_of(&keys, block);
    assert_true(memcmp(&block, coded, sizeof coded) == 0);
}
#endif

static void a_word_says_what_was_written(void **state) {
    (void)state;
    uint64_t random = 1;
    static _Alignas(16) char object[SLOT];
    for (unsigned i = 0; i < 1000; i++) {
        enum keyed_way way = draw_secrets(&random, i);
        uint32_t payload =
            (uint32_t)random_next(&random) >> (32 - SHORT_PAYLOAD + random_below(&random, SHORT_PAYLOAD));
        for (enum trailer_state made = LIVE; made <= FREED; made++) {
            struct trailer read;
            uint64_t left = made == LIVE ? payload : payload_left(payload, SHORT_PAYLOAD);
            uint64_t word = trailer_made(trailer_for(object, SLOT, payload), made);
            assert_int_equal(trailer_read(object, SLOT, word, &read, way), made);
            struct keyed keyed = keyed_of(object, way);
            assert_true(read.payload == left && memcmp(&read.keyed, &keyed, sizeof keyed) == 0);
            /* the end of a string changes the first byte; a string without one ends at the second */
            assert_true((word & 0xff) != 0 && (word >> 8 & 0xff) == 0);
            uint64_t canary = address_byte(object), slack = left & ((1u << SHORT_SLACK) - 1);
            assert_int_equal(trailer_may_be(word, canary), slack < FRONTEND_MAX);
            assert_false(trailer_may_be(word ^ 0x100, canary));
            assert_false(trailer_may_be(word ^ 2, canary));
            /* what free looks at */
            uint64_t told = trailer_tells(word, canary, SHORT_PAYLOAD);
            assert_true(told == (left | (uint64_t)made << SHORT_PAYLOAD));
            assert_int_equal(code_is_right(keyed, told, word, SHORT_PAYLOAD), made == LIVE);
            assert_true(trailer_tells(word ^ 2, canary, SHORT_PAYLOAD) >> 32 != 0);
            assert_true(trailer_tells(word ^ 0x8000, canary, SHORT_PAYLOAD) >> 32 != 0);
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
        enum keyed_way way = draw_secrets(&random, i);
        uint32_t payload = (uint32_t)random_below(&random, SLOT), another = payload ^ 5;
        for (enum trailer_state made = LIVE; made <= FREED; made++) {
            uint64_t word = trailer_made(trailer_for(objects[0], SLOT, payload), made);
            for (unsigned bit = 0; bit < 64; bit++)
                assert_int_equal(trailer_read(objects[0], SLOT, word ^ (uint64_t)1 << bit, &read, way), BROKEN);
            for (unsigned other = 1; other < 8; other++)
                assert_int_equal(trailer_read(objects[other], SLOT, word, &read, way), BROKEN);
            /* the code of the other state or of another payload */
            uint64_t states = (uint64_t)(LIVE ^ FREED) << (PAYLOAD_SHIFT + SHORT_PAYLOAD);
            assert_int_equal(trailer_read(objects[0], SLOT, word ^ states, &read, way), BROKEN);
            uint64_t payloads = (uint64_t)(payload ^ another) << PAYLOAD_SHIFT; /* of FREED: any payload at all */
            assert_int_equal(trailer_read(objects[0], SLOT, word ^ payloads, &read, way), BROKEN);
            assert_int_equal(trailer_read(objects[0], SLOT, random_next(&random), &read, way), BROKEN);
            change_secret(random_next(&random));
            assert_int_equal(trailer_read(objects[0], SLOT, word, &read, way), BROKEN);
        }
    }
}

/* What is behind the request's end, of each length: the first bytes are filled, and no other byte changes. A fresh
 * object may lose its bytes before that in the same word. No bit of what was there is left in the fill. */
static void check_slack(size_t slack, bool fresh, bool paired, char fill) {
    static _Alignas(16) char slot[SLOT];
    const char before = fresh ? 0 : 0x7f & ~fill;
    char *end = slot + SLOT - TRAILER_SIZE - slack;
    memset(slot, before, sizeof slot);
    if (paired) slack_fill_paired(end + slack, slack, (uint8_t)fill);
    else slack_fill(end, slack, (uint8_t)fill, fresh);
    assert_true(slack_differs(end, slack, (uint8_t)fill) == 0);
    assert_false(slack_differs_paired(end + slack, slack, (uint8_t)fill));
    assert_int_equal(filled(slack), slack < FILLED_MOST ? slack : FILLED_MOST);
    assert_int_equal(fill_left(end, slack, (uint8_t)fill), filled(slack));
    for (char *byte = slot; byte < slot + SLOT; byte++) {
        bool inside = byte >= end && byte < end + filled(slack);
        assert_int_equal(*byte, inside ? fill : before);
        *byte ^= 1;
        assert_int_equal(slack_differs(end, slack, (uint8_t)fill) != 0, inside);
        assert_int_equal(slack_differs_paired(end + slack, slack, (uint8_t)fill), inside);
        *byte ^= 1;
    }
}

static void a_slack_is_filled_and_checked(void **state) {
    (void)state;
    const char fills[] = {0x77, 0x24};
    for (size_t slack = 0; slack <= SLOT - TRAILER_SIZE; slack++)
        for (unsigned i = 0; i < sizeof fills; i++) {
            check_slack(slack, false, false, fills[i]);
            check_slack(slack, true, false, fills[i]);
            check_slack(slack, true, true, fills[i]);
        }
}

static void a_byte_that_is_not_zero_is_seen(void **state) {
    (void)state;
    static _Alignas(16) char slot[6 * SLOT];
    for (size_t size = 16; size <= sizeof slot; size += 16) {
        assert_true(is_zero_but_last(slot, size));
        for (size_t at = 0; at < sizeof slot; at++) {
            slot[at] = 1;
            assert_int_equal(is_zero_but_last(slot, size), at >= size - 8);
            slot[at] = 0;
        }
    }
}

static void all_but_the_last_word_is_cleared(void **state) {
    (void)state;
    static _Alignas(16) char slot[6 * SLOT];
    for (size_t size = 16; size <= sizeof slot; size += 16) {
        memset(slot, 1, sizeof slot);
        clear_but_last(slot, size);
        for (size_t at = 0; at < sizeof slot; at++) assert_int_equal(slot[at], at >= size - 8);
    }
}

#ifdef TRAILER_WIDE
WIDE_ENDS
#endif

int main(void) {
#ifdef TRAILER_WIDE
    if (!wide_is_there() || !aes_is_there()) return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(siphash_has_the_known_values),
        cmocka_unit_test(a_word_says_what_was_written),
        cmocka_unit_test(every_other_word_is_broken),
        cmocka_unit_test(a_slack_is_filled_and_checked),
        cmocka_unit_test(a_byte_that_is_not_zero_is_seen),
        cmocka_unit_test(all_but_the_last_word_is_cleared),
#if JW_AES
        cmocka_unit_test(aes_has_the_known_value),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
