/* linux_libc.c - what libc and the loader may do for us beyond malloc's own affairs. All of it is optional: the names
 * are weak, so a program that is linked statically does not get the loader into it.
 *
 * The code must stay where it is: the reclamation thread runs in it, and threads that end call into it. A shared
 * library of ours is linked with -z nodelete, and so is what uses an archive of ours through CMake or pkg-config. Who
 * links the archive into a plugin by hand may not know; that plugin is opened once more here, for good.
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

/* Of the library or program that this code is linked into; none where that is static. */
extern const ElfW(Dyn) own_dynamic[] __asm__("_DYNAMIC") __attribute__((weak, visibility("hidden")));

static bool stays_anyway(void) {
    const ElfW(Dyn) *entry = own_dynamic;
    if (entry == NULL) return true;
    while (entry->d_tag != DT_NULL && entry->d_tag != DT_FLAGS_1) entry++;
    return entry->d_tag == DT_FLAGS_1 && entry->d_un.d_val & DF_1_NODELETE;
}

/* The one whose headers the kernel has told us. */
static bool is_the_program(const void *base) {
    const ElfW(Ehdr) *header = base;
    return (uintptr_t)base + header->e_phoff == getauxval(AT_PHDR);
}

static void stay_loaded(void) {
    Dl_info own;
    if (stays_anyway() || dladdr == NULL || dlopen == NULL) return;
    if (dladdr(own_dynamic, &own) == 0 || own.dli_fname == NULL || is_the_program(own.dli_fbase)) return;
    /* the loader knows the file by this name: it looks for no other, and loads nothing */
    dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* glibc's place for the last words, which is in no header. Debuggers and crash reporters read it from the process or
 * its core. As it is glibc's own, it is looked for and not linked with. Where glibc has more to say, it unmaps what was
 * there before. */
struct glibc_message {
    unsigned size; /* of the mapping */
    char text[];
};
static _Atomic(uintptr_t) glibc_place; /* of a pointer to it; 0: none */

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
    /* relaxed: read by who looks at the stopped process */
    if (place != NULL) atomic_store_explicit(place, (uintptr_t)message, memory_order_relaxed);
}

COLD void platform_settle(void) {
    stay_loaded();
#ifdef __GLIBC__
    if (dlsym != NULL)
        atomic_store_explicit(&glibc_place, (uintptr_t)dlsym(RTLD_DEFAULT, "__abort_msg"), memory_order_relaxed);
#endif
}
