/* filter.h - instructions of a filter. */
#ifndef JW_MOCK_LINUX_FILTER_H
#define JW_MOCK_LINUX_FILTER_H

#include <stdint.h>

#define BPF_LD 0x00
#define BPF_JMP 0x05
#define BPF_RET 0x06
#define BPF_W 0x00
#define BPF_ABS 0x20
#define BPF_JEQ 0x10
#define BPF_JSET 0x40
#define BPF_K 0x00
struct sock_filter {
    uint16_t code;
    uint8_t jt, jf;
    uint32_t k;
};
struct sock_fprog {
    unsigned short len;
    struct sock_filter *filter;
};
#define BPF_STMT(code, k)                                                                                              \
    { (uint16_t)(code), 0, 0, (uint32_t)(k) }
#define BPF_JUMP(code, k, jt, jf)                                                                                      \
    { (uint16_t)(code), (jt), (jf), (uint32_t)(k) }

#endif
