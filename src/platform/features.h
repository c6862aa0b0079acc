/* features.h - what the processor, the C library and the tools around a build offer, where more than one file asks.
 *
 * A choice that only one file makes stays there: the system calls of each processor (linux_call.h), the registers of a
 * fault (catch.h), mangled names (new_delete.c), calls that only one C library has (linux_libc.c).
 */
#ifndef JW_FEATURES_H
#define JW_FEATURES_H

#include "base/compiler.h"
#include "base/mitigations.h"

/* Steps of the hit paths have a form in x86-64's assembler (platform/instructions.h). */
#if defined __x86_64__ && defined __LP64__
#define JW_X86_64_FORMS 1
#else
#define JW_X86_64_FORMS 0
#endif

/* The processor may have instructions for AES (platform/aes.h). Checked builds have none of it, because the sanitizers
 * cannot see into assembler. */
#if (defined __x86_64__ || defined __aarch64__) && !JW_CHECKED
#define JW_AES 1
#else
#define JW_AES 0
#endif

/* The processor may have vectors of 32 bytes (platform/wide.h). */
#if defined __x86_64__ && defined __LP64__ && JW_AES
#define JW_WIDE 1
#else
#define JW_WIDE 0
#endif

/* Objects of the plain core get memory tags: of a library of its own (docs/hardening.md), on AArch64. */
#ifndef JW_TAGGED
#define JW_TAGGED 0
#endif

/* Memory and pointers have tags (platform/tags.h). TAGGED_ENTRIES: as the entry points of core/tagged.h take the place
 * of the plain ones. Else only in the build whose objects have trailers. */
#ifdef __aarch64__
#define TAGGED_ENTRIES (JW_TAGGED && !TRAILERS)
#define TAGGED (TAGGED_ENTRIES || TRAILERS)
#else
#define TAGGED_ENTRIES 0
#define TAGGED 0
#endif

/* The C library is Android's. */
#ifdef __BIONIC__
#define ON_BIONIC 1
#else
#define ON_BIONIC 0
#endif

/* malloc_info has bionic's form, and mallinfo is mallinfo2 (api/bionic_info.h). Tests set it elsewhere, too. */
#ifndef JW_BIONIC
#define JW_BIONIC ON_BIONIC
#endif

/* An option of the prefixed library (cmake/jwmalloc.cmake): it looks for tools that find memory errors
 * (platform/tool.h). The shared library and its archive do not need it: there the tool's malloc takes the place of
 * ours. */
#ifndef JW_BESIDE_TOOLS
#define JW_BESIDE_TOOLS 0
#endif

/* The reclamation thread is an ordinary thread of libc. Sanitizers need that: they keep a thread's state in
 * thread-local storage. An ordinary thread is not confined, because the sanitizers' own system calls would be refused.
 * The model checker uses only the sanitizers' instrumentation, and defines 0. */
#ifndef PLAIN_THREAD
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define PLAIN_THREAD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define PLAIN_THREAD 1
#endif
#endif
#endif
#ifndef PLAIN_THREAD
#define PLAIN_THREAD 0
#endif

/* SECOND_NAME(name, target): exports glibc's second name of an entry point, `__libc_name`, as another symbol of the
 * target. A program that allocates by one of them frees by free(), so they must be ours, too. Weak: a static program
 * may also have the C library's definitions. */
#if defined(__has_attribute) && __has_attribute(copy)
#define COPIES(target) , copy(target)
#else
#define COPIES(target)
#endif
#define SECOND_NAME(name, target)                                                                                      \
    extern JW_EXPORT __typeof__(target) second_##name __asm__("__libc_" #name)                                         \
        __attribute__((weak, alias(#target) COPIES(target)))

#endif
