/* linux_libc.c - services of libc and of the loader: keeping our code mapped, and the message for crash reporters. All
 * are optional: the names are weak, so that a static program does not get the loader linked into it.
 *
 * Our code must stay mapped: the reclamation thread runs in it, and threads that end call into it. Our shared library
 * is linked with -z nodelete; so is a library that uses our archive through CMake or pkg-config. A plugin that links
 * the archive by hand may lack the flag: it is opened once more here and stays open.
 */
#define _GNU_SOURCE 1 /* dladdr, RTLD_NODELETE */
#include "base/compiler.h"
#include "platform/platform.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#ifndef DF_1_NODELETE
#define DF_1_NODELETE 8
#endif

#pragma weak dlopen
#pragma weak dladdr
#pragma weak dlsym

/* The dynamic section of the library or program that has this code; none in a static program. */
extern const ElfW(Dyn) own_dynamic[] __asm__("_DYNAMIC") __attribute__((weak, visibility("hidden")));

static bool stays_anyway(void) {
    const ElfW(Dyn) *entry = own_dynamic;
    if (entry == NULL) return true;
    while (entry->d_tag != DT_NULL && entry->d_tag != DT_FLAGS_1) entry++;
    return entry->d_tag == DT_FLAGS_1 && entry->d_un.d_val & DF_1_NODELETE;
}

/* Whether `base` is the program itself, whose headers the kernel passes (AT_PHDR). */
static bool is_the_program(const void *base) {
    const ElfW(Ehdr) *header = base;
    return (uintptr_t)base + header->e_phoff == getauxval(AT_PHDR);
}

static void stay_loaded(void) {
    Dl_info own;
    if (stays_anyway() || dladdr == NULL || dlopen == NULL) return;
    if (dladdr(own_dynamic, &own) == 0 || own.dli_fname == NULL || is_the_program(own.dli_fbase)) return;
    /* the loader knows the file by this name: it searches and loads nothing */
    dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* glibc's place for the abort message, which is in no header. Debuggers and crash reporters read it from the process or
 * its core. The name is private to glibc, so it is looked up at run time. A later message of glibc's unmaps ours. */
struct glibc_message {
    unsigned size; /* of the mapping */
    char text[];
};
static _Atomic(uintptr_t) glibc_place; /* address of the pointer to it; 0: none */

#pragma weak android_set_abort_message
void android_set_abort_message(const char *text);

void platform_abort_message(const char *text, size_t length) {
    size_t page = platform_page_size();
    _Atomic(uintptr_t) *place = (_Atomic(uintptr_t) *)atomic_load_explicit(&glibc_place, memory_order_relaxed);
    if (place == NULL && android_set_abort_message == NULL) return;
    struct glibc_message *message = platform_reserve(page, page, "jwmalloc: abort message");
    if (message == NULL) return;
    message->size = (unsigned)page;
    if (length > page - sizeof *message - 1) length = page - sizeof *message - 1;
    memcpy(message->text, text, length); /* the rest is 0 */
    if (android_set_abort_message != NULL) android_set_abort_message(message->text);
    /* relaxed: read only by tools that look at the stopped process */
    if (place != NULL) atomic_store_explicit(place, (uintptr_t)message, memory_order_relaxed);
}

COLD bool platform_call_library(const char *file, const char *name, const void *argument) {
    void *library = dlopen != NULL && dlsym != NULL ? dlopen(file, RTLD_NOW | RTLD_NODELETE) : NULL;
    void (*function)(const void *) = library != NULL ? (void (*)(const void *))dlsym(library, name) : NULL;
    if (function != NULL) function(argument);
    return function != NULL;
}

COLD void platform_finish_start(void) {
    stay_loaded();
#ifdef __GLIBC__
    if (dlsym != NULL)
        atomic_store_explicit(&glibc_place, (uintptr_t)dlsym(RTLD_DEFAULT, "__abort_msg"), memory_order_relaxed);
#endif
}
