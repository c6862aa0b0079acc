/* known.c - an allocator whose instructions are known, for bench_test.py: it only ever takes more of a fixed memory.
 *
 * With BROKEN, every object is the same one, which a driver that checks its objects must notice.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* malloc: 8 instructions, 1 conditional branch. free: 3 and 0. */
__asm__(".bss\n"
        ".balign 4096\n"
        "memory: .zero 1 << 30\n"
        ".data\n"
        "next: .quad 0\n"
        ".text\n"
        ".globl malloc\n"
        ".type malloc, @function\n"
        "malloc:\n"
        "    add $31, %rdi\n"
        "    and $-16, %rdi\n"
        "    jz malloc\n"
#ifdef BROKEN
        "    xor %eax, %eax\n"
#else
        "    mov %rdi, %rax\n"
        "    lock xadd %rax, next(%rip)\n"
#endif
        "    lea memory(%rip), %rdx\n"
        "    add %rdx, %rax\n"
        "    ret\n"
        ".size malloc, . - malloc\n"
        ".globl free\n"
        ".type free, @function\n"
        "free:\n"
        "    nop\n"
        "    nop\n"
        "    ret\n"
        ".size free, . - free\n");

void *malloc(size_t size);

void *calloc(size_t count, size_t size) {
    return malloc(count * size);
}

void *realloc(void *old, size_t size) {
    void *object = malloc(size);
    if (old != NULL) memcpy(object, old, size);
    return object;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return (void *)(((uintptr_t)malloc(size + alignment) + alignment - 1) & ~(uintptr_t)(alignment - 1));
}
