/* secret.h - the secrets of a process in the hardened build, and the keyed function of an address. */
#ifndef JW_SECRET_H
#define JW_SECRET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/mixed.h"
#include "base/siphash.h"
#include "platform/aes.h"

/* Drawn once, by the first slow path. A fork's child keeps its parent's secrets, as it keeps the objects. */
struct secrets {
    struct aes_keys aes;  /* of the codes of trailers, where the processor has AES */
    struct sip_state sip; /* of these codes elsewhere */
    uint64_t place;       /* of what differs from address to address and protects nothing else; odd */
    bool has_aes;
    bool usual; /* the process has keyed functions by USUAL_WAY, zero_on_free, where JW_WIDE vectors of 32 bytes, and
                   tells of no objects: malloc and free test all at once. Plain, so that one instruction reads and
                   tests it; either way is right while it changes */
};

extern struct secrets secrets HIDDEN;

void secrets_start(void);

/* Sets `usual`: at the start, and when tracking is switched. */
void way_choose(void);

static ALWAYS_INLINE uint64_t address_product(const void *object) {
    return (uintptr_t)object * secrets.place;
}

static ALWAYS_INLINE uint64_t byte_of_product(uint64_t product) {
    return product >> 56 | 1;
}

/* A byte that differs from address to address and is never 0: the canary of a trailer, and the fill of what a program
 * may not touch. Attackers that can read many of them can find the others, but no trailer's code. */
static ALWAYS_INLINE uint64_t address_byte(const void *object) {
    return byte_of_product(address_product(object));
}

/* Two words. No attack is known by which they tell of the secrets, or of the words of another address. */
struct keyed {
    uint64_t factor, addend;
};

/* Two ways: AES with independent round keys, or SipHash-1-3. A process has one of them from its first object on. */
enum keyed_way { BY_SIPHASH, BY_AES };
#define USUAL_WAY (JW_AES ? BY_AES : BY_SIPHASH)

static ALWAYS_INLINE enum keyed_way keyed_way(void) {
    return JW_AES && LIKELY(secrets.has_aes) ? BY_AES : BY_SIPHASH;
}

static ALWAYS_INLINE struct keyed keyed_of(const void *address, enum keyed_way way) {
#if JW_AES
    if (way == BY_AES) {
        aes_block block = aes_of(&secrets.aes, (aes_block){(uintptr_t)address, 0});
        return (struct keyed){block[0], block[1]};
    }
#endif
    (void)way;
    uint64_t hash = sip_of(&secrets.sip, (uintptr_t)address, 7);
    return (struct keyed){hash, mixed(hash)};
}

#endif
