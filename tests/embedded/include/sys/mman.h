/* mman.h - mappings. */
#ifndef JW_MOCK_SYS_MMAN_H
#define JW_MOCK_SYS_MMAN_H

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
#define MAP_PRIVATE 2
#define MAP_ANONYMOUS 0x20
#define MAP_NORESERVE 0x4000
#define MREMAP_MAYMOVE 1
#define MREMAP_FIXED 2
#define MADV_NORMAL 0
#define MADV_DONTNEED 4
#define MADV_HUGEPAGE 14
#define MADV_NOHUGEPAGE 15

#endif
