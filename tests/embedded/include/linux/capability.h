/* capability.h - for capget and capset. */
#ifndef JW_MOCK_LINUX_CAPABILITY_H
#define JW_MOCK_LINUX_CAPABILITY_H

#include <stdint.h>

#define _LINUX_CAPABILITY_VERSION_3 0x20080522
#define _LINUX_CAPABILITY_U32S_3 2
struct __user_cap_header_struct {
    uint32_t version;
    int pid;
};
struct __user_cap_data_struct {
    uint32_t effective, permitted, inheritable;
};

#endif
