/* slot.h - what the mock C library (libc.c) tells the core that is built into it: where a thread's word is. */
#ifndef JW_MOCK_SLOT_H
#define JW_MOCK_SLOT_H

/* At the thread pointer. On x86-64 the ABI wants its first word to be the address itself. */
struct mock_control {
    struct mock_control *self;
    void *word; /* the core's: the host's slot */
    int error;
    unsigned number; /* the kernel's; it clears it when the thread has ended */
    struct mock_thread *thread;
};

static inline struct mock_control *mock_control(void) {
#if defined(__x86_64__)
    struct mock_control *self;
    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self;
#else
    return (struct mock_control *)__builtin_thread_pointer();
#endif
}

/* On x86-64 one instruction, as on other processors. */
#if defined(__x86_64__)
#define MOCK_WORD (*(void *__attribute__((address_space(257))) *)8) /* fs:8 */
#else
#define MOCK_WORD (mock_control()->word)
#endif

static inline void *host_word(void) {
    return MOCK_WORD;
}

static inline void host_word_set(void *word) {
    MOCK_WORD = word;
}

#endif
