/* fuzz.h - what every fuzz target shares. A target is LLVMFuzzerTestOneInput: it takes any bytes, works with them, and
 * aborts when an expectation fails. libFuzzer makes up the bytes (./jw fuzz); replay.c reads them from the corpus. */
#ifndef JW_TESTS_FUZZ_H
#define JW_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* JW_FUZZ_SHOW is in the environment: tell what the input means, call by call. */
static inline bool fuzz_shows(void) {
    static int shows = -1;
    if (shows < 0) shows = getenv("JW_FUZZ_SHOW") != NULL;
    return shows;
}

#define EXPECT(condition) ((condition) ? (void)0 : expectation_failed(__FILE__, __LINE__, #condition))

_Noreturn static inline void expectation_failed(const char *file, int line, const char *condition) {
    const char *name = strrchr(file, '/');
    fflush(stdout);
    dprintf(STDERR_FILENO, "%s:%d: EXPECT failed: %s\n", name ? name + 1 : file, line, condition);
    abort();
}

#endif
