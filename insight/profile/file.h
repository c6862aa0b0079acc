/* file.h - this process's file of samples (profile.h). A function that would have to wait drops the sample, and counts
 * that; without _dl_find_object (before glibc 2.35) it waits for the loader. */
#ifndef JW_PROFILE_FILE_H
#define JW_PROFILE_FILE_H

#include "profile.h"
#include <stdbool.h>

extern struct control *control;

bool file_begin(const char *folder); /* once, before main */
bool file_ready(void);               /* makes the file, if this process has none yet */
uint32_t file_process(void);         /* differs in a child of fork */

/* The row of a stack and a size; 0: dropped. */
uint32_t file_row(void **frames, int count, uint64_t size);
void file_forget_addresses(void); /* after a library was unloaded: rows until now mean what was there */
void file_allocated(uint32_t row);
void file_freed(uint32_t row);
void file_count_unwound(void);
void file_drop_full(void);
void file_drop_busy(void);
void file_drop_unknown(void);

#endif
