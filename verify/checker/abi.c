/* abi.c - the functions that code compiled with -fsanitize=thread calls. Macros make the widths. */
#include "engine.h"

#include <string.h>

uintptr_t client_pc;

/* Where client code called the function this stands in. */
#define ENTER() (client_pc = (uintptr_t)__builtin_return_address(0))

EXPORT void __tsan_init(void);
EXPORT void __tsan_init(void) {
}

/* The chain of calls; `pc` is the place of each. */
EXPORT void __tsan_func_entry(void *pc);
EXPORT void __tsan_func_exit(void);

EXPORT void __tsan_func_entry(void *pc) {
    struct thread *thread = self();
    if (!run.active) return;
    uint64_t below = thread->callers[thread->depth % CALLERS];
    thread->callers[++thread->depth % CALLERS] = (below + (uint64_t)pc) * 0x9E3779B97F4A7C15u;
}

EXPORT void __tsan_func_exit(void) {
    if (run.active) self()->depth--;
}

/* C has no virtual tables. */
#define IGNORED(name, arguments)                                                                                       \
    EXPORT void name arguments;                                                                                        \
    EXPORT void name arguments {                                                                                       \
    }

IGNORED(__tsan_ignore_thread_begin, (void))
IGNORED(__tsan_ignore_thread_end, (void))
IGNORED(__tsan_vptr_read, (__attribute__((unused)) void **p))
IGNORED(__tsan_vptr_update, (__attribute__((unused)) void **p, __attribute__((unused)) void *value))
IGNORED(__tsan_atomic_signal_fence, (__attribute__((unused)) int order))

#define PLAIN(name, size, kind)                                                                                        \
    EXPORT void name(void *p);                                                                                         \
    EXPORT void name(void *p) {                                                                                        \
        ENTER();                                                                                                       \
        shadow_access((uint64_t)p, size, kind);                                                                        \
    }

#define PLAIN_WIDTH(size)                                                                                              \
    PLAIN(__tsan_read##size, size, READ_ACCESS)                                                                        \
    PLAIN(__tsan_write##size, size, WRITE_ACCESS)                                                                      \
    PLAIN(__tsan_unaligned_read##size, size, READ_ACCESS)                                                              \
    PLAIN(__tsan_unaligned_write##size, size, WRITE_ACCESS)                                                            \
    PLAIN(__tsan_volatile_read##size, size, READ_ACCESS)                                                               \
    PLAIN(__tsan_volatile_write##size, size, WRITE_ACCESS)                                                             \
    PLAIN(__tsan_unaligned_volatile_read##size, size, READ_ACCESS)                                                     \
    PLAIN(__tsan_unaligned_volatile_write##size, size, WRITE_ACCESS)                                                   \
    EXPORT void __tsan_read_write##size(void *p);                                                                      \
    EXPORT void __tsan_read_write##size(void *p) {                                                                     \
        ENTER();                                                                                                       \
        shadow_access((uint64_t)p, size, READ_ACCESS);                                                                 \
        shadow_access((uint64_t)p, size, WRITE_ACCESS);                                                                \
    }                                                                                                                  \
    EXPORT void __tsan_unaligned_read_write##size(void *p);                                                            \
    EXPORT void __tsan_unaligned_read_write##size(void *p) {                                                           \
        ENTER();                                                                                                       \
        shadow_access((uint64_t)p, size, READ_ACCESS);                                                                 \
        shadow_access((uint64_t)p, size, WRITE_ACCESS);                                                                \
    }

PLAIN_WIDTH(1)
PLAIN_WIDTH(2)
PLAIN_WIDTH(4)
PLAIN_WIDTH(8)
PLAIN_WIDTH(16)

#define RANGE(name, kind)                                                                                              \
    EXPORT void name(void *p, size_t size);                                                                            \
    EXPORT void name(void *p, size_t size) {                                                                           \
        ENTER();                                                                                                       \
        shadow_access((uint64_t)p, size, kind);                                                                        \
    }

RANGE(__tsan_read_range, READ_ACCESS)
RANGE(__tsan_write_range, WRITE_ACCESS)

/* ---- Atomics */

/* What an order of success says of the read. */
static enum order order_of_read(enum order order) {
    return order == ACQ_REL ? ACQUIRE : order == RELEASE ? RELAXED : order;
}

/* The compilers keep `expected` in plain memory that only the engine writes. */
static bool exchange(uint64_t address, unsigned size, uint64_t *expected, uint64_t value, const int orders[2],
                     bool weak) {
    enum order both[2] = {(enum order)(orders[0] & 7), (enum order)(orders[1] & 7)};
    if (settings.failing_as_success) both[1] = order_of_read(both[0]);
    struct request wanted = {.kind = CAS, .weak = weak};
    return model_compare_exchange(wanted, expected, value, size, both, address);
}

static bool exchange_through(uint64_t address, unsigned size, void *expected, uint64_t value, const int orders[2],
                             bool weak) {
    uint64_t old = 0;
    shadow_access((uint64_t)expected, size, READ_ACCESS);
    memcpy(&old, expected, size);
    uintptr_t pc = client_pc;
    if (exchange(address, size, &old, value, orders, weak)) return true;
    client_pc = pc;
    shadow_access((uint64_t)expected, size, WRITE_ACCESS);
    memcpy(expected, &old, size);
    return false;
}

#define ATOMIC_UPDATE(bits, type, name, update)                                                                        \
    EXPORT type __tsan_atomic##bits##_##name(volatile type *p, type value, int order);                                 \
    EXPORT type __tsan_atomic##bits##_##name(volatile type *p, type value, int order) {                                \
        ENTER();                                                                                                       \
        return (type)model_update((uint64_t)p, bits / 8, update, value, (enum order)(order & 7));                      \
    }

#define ATOMIC_EXCHANGE(bits, type, name, weak)                                                                        \
    EXPORT int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *expected, type value, int order,  \
                                                             int failure);                                             \
    EXPORT int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *expected, type value, int order,  \
                                                             int failure) {                                            \
        ENTER();                                                                                                       \
        return exchange_through((uint64_t)p, bits / 8, expected, value, (const int[2]){order, failure}, weak);         \
    }

#define ATOMIC_WIDTH(bits, type)                                                                                       \
    EXPORT type __tsan_atomic##bits##_load(const volatile type *p, int order);                                         \
    EXPORT type __tsan_atomic##bits##_load(const volatile type *p, int order) {                                        \
        ENTER();                                                                                                       \
        return (type)model_load((uint64_t)p, bits / 8, (enum order)(order & 7));                                       \
    }                                                                                                                  \
    EXPORT void __tsan_atomic##bits##_store(volatile type *p, type value, int order);                                  \
    EXPORT void __tsan_atomic##bits##_store(volatile type *p, type value, int order) {                                 \
        ENTER();                                                                                                       \
        model_store((uint64_t)p, bits / 8, value, (enum order)(order & 7));                                            \
    }                                                                                                                  \
    ATOMIC_UPDATE(bits, type, exchange, EXCHANGE)                                                                      \
    ATOMIC_UPDATE(bits, type, fetch_add, ADD)                                                                          \
    ATOMIC_UPDATE(bits, type, fetch_sub, SUB)                                                                          \
    ATOMIC_UPDATE(bits, type, fetch_and, AND)                                                                          \
    ATOMIC_UPDATE(bits, type, fetch_or, OR)                                                                            \
    ATOMIC_UPDATE(bits, type, fetch_xor, XOR)                                                                          \
    ATOMIC_UPDATE(bits, type, fetch_nand, NAND)                                                                        \
    ATOMIC_EXCHANGE(bits, type, strong, false)                                                                         \
    ATOMIC_EXCHANGE(bits, type, weak, true)                                                                            \
    EXPORT type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type value, int order,     \
                                                           int failure);                                               \
    EXPORT type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type value, int order,     \
                                                           int failure) {                                              \
        ENTER();                                                                                                       \
        uint64_t old = expected;                                                                                       \
        exchange((uint64_t)p, bits / 8, &old, value, (const int[2]){order, failure}, false);                           \
        return (type)old;                                                                                              \
    }

ATOMIC_WIDTH(8, uint8_t)
ATOMIC_WIDTH(16, uint16_t)
ATOMIC_WIDTH(32, uint32_t)
ATOMIC_WIDTH(64, uint64_t)

/* Linkable, but beyond the model: no protocol of ours needs words this wide. */
#define ATOMIC_TOO_WIDE(name)                                                                                          \
    EXPORT void __tsan_atomic128_##name(volatile void *p);                                                             \
    EXPORT void __tsan_atomic128_##name(volatile void *p) {                                                            \
        ENTER();                                                                                                       \
        fail("unsupported", (uint64_t)p, 0, "an atomic access of 16 bytes");                                           \
    }

ATOMIC_TOO_WIDE(load)
ATOMIC_TOO_WIDE(store)
ATOMIC_TOO_WIDE(exchange)
ATOMIC_TOO_WIDE(fetch_add)
ATOMIC_TOO_WIDE(fetch_sub)
ATOMIC_TOO_WIDE(fetch_and)
ATOMIC_TOO_WIDE(fetch_or)
ATOMIC_TOO_WIDE(fetch_xor)
ATOMIC_TOO_WIDE(fetch_nand)
ATOMIC_TOO_WIDE(compare_exchange_strong)
ATOMIC_TOO_WIDE(compare_exchange_weak)
ATOMIC_TOO_WIDE(compare_exchange_val)

EXPORT void __tsan_atomic_thread_fence(int order);
EXPORT void __tsan_atomic_thread_fence(int order) {
    ENTER();
    model_fence((enum order)(order & 7));
}

/* ---- Memory functions; libc's names come here by the linker's --wrap. */

static void *copy(void *to, const void *from, size_t size) {
    shadow_access((uint64_t)from, size, READ_ACCESS | COPY_ACCESS);
    bool unwritten = run.active && shadow_unwritten((uint64_t)from, size);
    shadow_access((uint64_t)to, size, WRITE_ACCESS | (unwritten ? COPY_ACCESS : 0));
    if (unwritten) shadow_copy((uint64_t)to, (uint64_t)from, size);
    return memmove(to, from, size);
}

static void *fill(void *to, int value, size_t size) {
    shadow_access((uint64_t)to, size, WRITE_ACCESS);
    return memset(to, value, size);
}

#define COPY(name)                                                                                                     \
    EXPORT void *name(void *to, const void *from, size_t size);                                                        \
    EXPORT void *name(void *to, const void *from, size_t size) {                                                       \
        ENTER();                                                                                                       \
        return copy(to, from, size);                                                                                   \
    }
#define FILL(name)                                                                                                     \
    EXPORT void *name(void *to, int value, size_t size);                                                               \
    EXPORT void *name(void *to, int value, size_t size) {                                                              \
        ENTER();                                                                                                       \
        return fill(to, value, size);                                                                                  \
    }

COPY(__tsan_memcpy)
COPY(__tsan_memmove)
COPY(__wrap_memcpy)
COPY(__wrap_memmove)
FILL(__tsan_memset)
FILL(__wrap_memset)

EXPORT int __wrap_memcmp(const void *one, const void *other, size_t size);
EXPORT int __wrap_memcmp(const void *one, const void *other, size_t size) {
    ENTER();
    shadow_access((uint64_t)one, size, READ_ACCESS);
    shadow_access((uint64_t)other, size, READ_ACCESS);
    return memcmp(one, other, size);
}
