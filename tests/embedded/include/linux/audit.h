/* audit.h - names of the processors. */
#ifndef JW_MOCK_LINUX_AUDIT_H
#define JW_MOCK_LINUX_AUDIT_H

#define AUDIT_ARCH_X86_64 0xc000003e
#define AUDIT_ARCH_AARCH64 0xc00000b7
#define AUDIT_ARCH_RISCV64 0xc00000f3
#define AUDIT_ARCH_I386 0x40000003
#define AUDIT_ARCH_ARM 0x40000028

#endif
