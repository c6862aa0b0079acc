/* stat.h - what statx gives: the identity of a file. */
#ifndef JW_MOCK_LINUX_STAT_H
#define JW_MOCK_LINUX_STAT_H

#include <stdint.h>

#define STATX_INO 0x100
struct statx {
    uint32_t unused[8];
    uint64_t stx_ino;
    uint64_t unused_too[11];
    uint32_t stx_rdev_major, stx_rdev_minor, stx_dev_major, stx_dev_minor;
    uint64_t rest[14];
};

#endif
