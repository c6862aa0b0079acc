/* trailer_test.c - the hardened build's trailers: the keyed function, and that no word stands for another. */
#include "hardened/trailer.h"
#include "unit.h"

struct secrets secrets;

enum { SLOT = 64 };

/* Of CPython 3.11, whose hash() of bytes is SipHash-1-3: with PYTHONHASHSEED=12345 hash(b"abcdefgh"), b"abcdefghijkl"
 * and b"abcdefghijklmno", the keys being what that seed gives; the same for seeds 1 and 0, where the key is 0. The
 * rest: the key 00, 01 .. 0f and messages 00, 01 .. of the function's authors, by a program that agrees with Python. */
static void siphash_has_the_known_values(void **state) {
    (void)state;
    static const struct {
        uint64_t key[2];
        uint8_t start;
        unsigned length;
        uint64_t value;
    } known[] = {
        {{0x0000000000000000, 0x0000000000000000}, 'a', 8, 0x3f7b849c0b8e35ea},
        {{0x0000000000000000, 0x0000000000000000}, 'a', 12, 0x83275255f37565c1},
        {{0x0000000000000000, 0x0000000000000000}, 'a', 15, 0x1fd27a29b0e9dc7a},
        {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 'a', 8, 0xfd3011ff3947e7f4},
        {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 'a', 12, 0xbbf0a670c3ff926a},
        {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 'a', 15, 0x2d206ad17faa7e20},
        {{0x25556dc46dc3dca0, 0xfc3ee4dbd06f6c90}, 'a', 8, 0x17059dcb47eb5a21},
        {{0x25556dc46dc3dca0, 0xfc3ee4dbd06f6c90}, 'a', 12, 0x195831fcf783fd86},
        {{0x25556dc46dc3dca0, 0xfc3ee4dbd06f6c90}, 'a', 15, 0x91d945f67da4be2b},
        {{0x0706050403020100, 0x0f0e0d0c0b0a0908}, 0, 8, 0x369095118d299a8e},
        {{0x0706050403020100, 0x0f0e0d0c0b0a0908}, 0, 9, 0x25a48eb36c063de4},
        {{0x0706050403020100, 0x0f0e0d0c0b0a0908}, 0, 10, 0x79de85ee92ff097f},
        {{0x0706050403020100, 0x0f0e0d0c0b0a0908}, 0, 11, 0x70c118c1f94dc352},
        {{0x0706050403020100, 0x0f0e0d0c0b0a0908}, 0, 12, 0x78a384b157b4d9a2},
        {{0x0706050403020100, 0x0f0e0d0c0b0a0908}, 0, 13, 0x306f760c1229ffa7},
        {{0x0706050403020100, 0x0f0e0d0c0b0a0908}, 0, 14, 0x605aa111c0f95d34},
        {{0x0706050403020100, 0x0f0e0d0c0b0a0908}, 0, 15, 0xd320d86d2a519956},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint64_t words[2] = {0, 0};
        for (unsigned at = 0; at < known[i].length; at++)
            words[at / 8] |= (uint64_t)(uint8_t)(known[i].start + at) << at % 8 * 8;
        assert_true(siphash(known[i].key, words[0], words[1], known[i].length) == known[i].value);
    }
}

static void draw_secrets(uint64_t *random) {
    secrets.trailer[0] = random_next(random);
    secrets.trailer[1] = random_next(random);
    secrets.mask = (uint32_t)random_next(random) | 0x01010101;
}

static void a_word_says_what_was_written(void **state) {
    (void)state;
    uint64_t random = 1;
    static _Alignas(16) char object[SLOT];
    for (unsigned i = 0; i < 1000; i++) {
        draw_secrets(&random);
        uint32_t payload = (uint32_t)random_next(&random) >> random_below(&random, 32);
        for (enum trailer_state made = LIVE; made <= FREED; made++) {
            struct trailer read;
            uint64_t word = trailer_made(trailer_for(object, payload), made);
            assert_int_equal(trailer_read(object, word, &read), made);
            assert_true(read.payload == payload && read.hash == trailer_for(object, payload).hash);
            assert_true((word & 0xff) != 0);
            for (unsigned byte = 4; byte < 8; byte++) /* zeros before the next object would show */
                assert_true(payload >> (byte - 4) * 8 & 0xff || word >> byte * 8 & 0xff);
        }
    }
}

/* Each right one would be by chance, once in 2^30. */
static void every_other_word_is_broken(void **state) {
    (void)state;
    uint64_t random = 2;
    static _Alignas(16) char objects[8][SLOT];
    struct trailer read;
    for (unsigned i = 0; i < 200; i++) {
        draw_secrets(&random);
        uint32_t payload = (uint32_t)random_below(&random, SLOT);
        for (enum trailer_state made = LIVE; made <= FREED; made++) {
            uint64_t word = trailer_made(trailer_for(objects[0], payload), made);
            for (unsigned bit = 0; bit < 64; bit++)
                assert_int_equal(trailer_read(objects[0], word ^ (uint64_t)1 << bit, &read), BROKEN);
            for (unsigned other = 1; other < 8; other++)
                assert_int_equal(trailer_read(objects[other], word, &read), BROKEN);
            /* the code of the other state or of another payload */
            assert_int_equal(trailer_read(objects[0], word ^ LIVE ^ FREED, &read), BROKEN);
            assert_int_equal(trailer_read(objects[0], word ^ (uint64_t)(payload ^ 5) << 32, &read),
                             payload ^ 5 ? BROKEN : made);
            assert_int_equal(trailer_read(objects[0], random_next(&random), &read), BROKEN);
            secrets.trailer[made & 1] ^= (uint64_t)1 << random_below(&random, 64);
            assert_int_equal(trailer_read(objects[0], word, &read), BROKEN);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(siphash_has_the_known_values),
        cmocka_unit_test(a_word_says_what_was_written),
        cmocka_unit_test(every_other_word_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
