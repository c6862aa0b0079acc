/* trace_target.h - what bench/trace.c is compiled with as a fuzz target: tables on the heap, messages kept, no exit. */
#ifndef JW_TESTS_FUZZ_TRACE_KERNEL_H
#define JW_TESTS_FUZZ_TRACE_KERNEL_H

#include <stddef.h>

void *fuzz_map_table(size_t size);
void *fuzz_map_file(int file, size_t size);
void fuzz_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void fuzz_exit(int code);

#ifdef JW_FUZZ_TRACE
#include "bench.h"

#define map_table(size) fuzz_map_table(size)
#define mmap(address, size, access, flags, file, offset) fuzz_map_file(file, size)
#define munmap(address, size) (void)(address)
#define dprintf(file, ...) fuzz_tell(__VA_ARGS__)
#define exit(code) fuzz_exit(code)
#endif

#endif
