/* modules.h - which loaded file has an address. */
#ifndef JW_PROFILE_MODULES_H
#define JW_PROFILE_MODULES_H

#include "profile.h"
#include <stdbool.h>

/* The segment of a loaded file. */
struct found_module {
    uintptr_t start, end, bias;
    uint64_t offset;
    uint32_t build_id_size;
    const uint8_t *build_id;
    const char *name; /* "": the program */
};

enum modules_result { MODULES_KNOWN, MODULES_BUSY, MODULES_FULL };

/* Writes the modules of a stack that are not in the process's file yet. Addresses without a file have none. The module
 * that is at an address now stands behind one that was there before. */
enum modules_result modules_know(void **frames, int count);
void modules_begin(void); /* of a process */

bool file_put_module(const struct found_module *found); /* file.c */

#endif
