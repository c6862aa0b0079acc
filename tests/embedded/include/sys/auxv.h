/* auxv.h - what the kernel gives to a new program. */
#ifndef JW_MOCK_SYS_AUXV_H
#define JW_MOCK_SYS_AUXV_H

#define AT_PHDR 3
#define AT_PAGESZ 6
#define AT_UID 11
#define AT_EUID 12
#define AT_GID 13
#define AT_EGID 14
#define AT_HWCAP 16
#define AT_SECURE 23
#define AT_RANDOM 25
#define AT_HWCAP2 26
#define AT_EXECFN 31
unsigned long getauxval(unsigned long type);

#endif
