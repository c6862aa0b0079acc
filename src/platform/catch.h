/* catch.h - catching a C++ exception in C, for api/new_delete.c only (its file must be compiled with unwind tables).
 *
 * The unwinder asks each frame's personality routine whether it handles the exception. call_catching's frame names
 * catch_all, which says yes and sends control to the label behind the call, with the exception as the result. The
 * unwinder is the program's: without one nothing is ever thrown, and catch_all never runs.
 */
#ifndef JW_CATCH_H
#define JW_CATCH_H

#include <stddef.h>
#include <stdint.h>
#include <unwind.h>

#if defined(__x86_64__)
#define CALL_AND_CATCH                                                                                                 \
    "sub $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\t"                                                                     \
    "mov %rdi, %rax\n\t"                                                                                               \
    "mov %rsi, %rdi\n\t"                                                                                               \
    "call *%rax\n\t"                                                                                                   \
    "xor %eax, %eax\n"                                                                                                 \
    "jw_caught: endbr64\n\t"                                                                                           \
    "add $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\t"                                                                    \
    "ret\n\t"
#elif defined(__i386__)
#define CALL_AND_CATCH                                                                                                 \
    "sub $12, %esp\n\t.cfi_adjust_cfa_offset 12\n\t"                                                                   \
    "mov 20(%esp), %eax\n\t"                                                                                           \
    "mov %eax, (%esp)\n\t"                                                                                             \
    "call *16(%esp)\n\t"                                                                                               \
    "xor %eax, %eax\n"                                                                                                 \
    "jw_caught: endbr32\n\t"                                                                                           \
    "add $12, %esp\n\t.cfi_adjust_cfa_offset -12\n\t"                                                                  \
    "ret\n\t"
#elif defined(__aarch64__)
#define CALL_AND_CATCH                                                                                                 \
    "stp x29, x30, [sp, #-16]!\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset 29, -16\n\t.cfi_offset 30, -8\n\t"             \
    "mov x9, x0\n\t"                                                                                                   \
    "mov x0, x1\n\t"                                                                                                   \
    "blr x9\n\t"                                                                                                       \
    "mov x0, xzr\n"                                                                                                    \
    "jw_caught: hint #36\n\t" /* bti j */                                                                              \
    "ldp x29, x30, [sp], #16\n\t.cfi_restore 29\n\t.cfi_restore 30\n\t.cfi_def_cfa_offset 0\n\t"                       \
    "ret\n\t"
#elif defined(__riscv) && __riscv_xlen == 64
#define CALL_AND_CATCH                                                                                                 \
    "addi sp, sp, -16\n\t.cfi_def_cfa_offset 16\n\t"                                                                   \
    "sd ra, 8(sp)\n\t.cfi_offset ra, -8\n\t"                                                                           \
    "mv t1, a0\n\t"                                                                                                    \
    "mv a0, a1\n\t"                                                                                                    \
    "jalr t1\n\t"                                                                                                      \
    "li a0, 0\n"                                                                                                       \
    "jw_caught: ld ra, 8(sp)\n\t.cfi_restore ra\n\t"                                                                   \
    "addi sp, sp, 16\n\t.cfi_def_cfa_offset 0\n\t"                                                                     \
    "ret\n\t"
#endif

#ifdef CALL_AND_CATCH

#pragma weak _Unwind_SetGR
#pragma weak _Unwind_SetIP

extern const char caught[] __asm__("jw_caught") __attribute__((visibility("hidden")));

_Unwind_Reason_Code catch_all(int version, _Unwind_Action actions, _Unwind_Exception_Class language,
                              struct _Unwind_Exception *exception,
                              struct _Unwind_Context *context) __asm__("jw_catch_all")
    __attribute__((visibility("hidden"), used));

_Unwind_Reason_Code catch_all(int version, _Unwind_Action actions, _Unwind_Exception_Class language,
                              struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
    (void)version;
    (void)language;
    if (actions & _UA_FORCE_UNWIND) return _URC_CONTINUE_UNWIND; /* a thread's cancellation must pass */
    if (actions & _UA_SEARCH_PHASE) return _URC_HANDLER_FOUND;
    _Unwind_SetGR(context, __builtin_eh_return_data_regno(0), (_Unwind_Word)(uintptr_t)exception);
    _Unwind_SetIP(context, (_Unwind_Ptr)caught);
    return _URC_INSTALL_CONTEXT;
}

/* Calls `function`. NULL when it returns; the exception when it throws. */
void *call_catching(void (*function)(void *argument), void *argument) __asm__("jw_call_catching")
    __attribute__((visibility("hidden")));

/* 0x1b: the personality's address is 4 bytes, relative. */
__asm__(".pushsection .text\n\t"
        ".globl jw_call_catching, jw_caught\n\t"
        ".hidden jw_call_catching, jw_caught\n\t"
        ".type jw_call_catching, %function\n"
        "jw_call_catching:\n\t"
        ".cfi_startproc\n\t"
        ".cfi_personality 0x1b, jw_catch_all\n\t" CALL_AND_CATCH ".cfi_endproc\n\t"
        ".size jw_call_catching, . - jw_call_catching\n\t"
        ".popsection");

#else

/* 32-bit ARM unwinds in a way of its own: there the exception passes. */
static inline void *call_catching(void (*function)(void *argument), void *argument) {
    function(argument);
    return NULL;
}

#endif
#endif
