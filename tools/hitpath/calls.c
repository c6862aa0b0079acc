/* calls.c - calls malloc and free in known situations, for ./jw asm to look at instruction by instruction.
 *
 * Prints where things are, then does its cases, each introduced by a call of mark(). It is linked to the library by its
 * path and calls by pointer, so a call goes straight to the function, without a PLT. Any argument makes it stop with
 * SIGSTOP before its cases and after them, for step.c. -DOPERATORS=1: also operator new and the sized delete, which the
 * library must have.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef LARGE_BATCH
#define LARGE_BATCH 4096
#endif
#ifndef OPERATORS
#define OPERATORS 0
#endif
enum { SIZE = 64, SMALL_BATCH = 64, ROUNDS = 2 };

typedef void *allocate_function(size_t size);
typedef void free_function(void *object);
typedef void free_sized_function(void *object, size_t size);

static allocate_function *allocate, *new_object;
static free_function *release;
static free_sized_function *delete_sized;
static void *own[LARGE_BATCH];
static void *foreign[SMALL_BATCH + LARGE_BATCH];
static pthread_barrier_t allocated, finished;
extern char __executable_start, etext;

__attribute__((noinline)) static void mark(void) {
    __asm__ volatile("" ::: "memory");
}

static int print_text_of(struct dl_phdr_info *object, size_t size, void *address) {
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && (uintptr_t)address - start < part->p_memsz) {
            printf("base %#lx\n", (unsigned long)object->dlpi_addr);
            return 1;
        }
    }
    return 0;
}

static void print_places(void) {
    printf("program %#lx %#lx\n", (unsigned long)&__executable_start, (unsigned long)&etext);
    printf("mark %#lx\n", (unsigned long)mark);
    printf("malloc %#lx\n", (unsigned long)allocate);
    printf("free %#lx\n", (unsigned long)release);
    printf("new %#lx\n", (unsigned long)new_object);
    printf("delete %#lx\n", (unsigned long)delete_sized);
    dl_iterate_phdr(print_text_of, (void *)(uintptr_t)allocate);
    fflush(stdout);
}

static void allocate_all(void **objects, int count) {
    for (int i = 0; i < count; i++) objects[i] = allocate(SIZE);
}

static void new_all(void **objects, int count) {
    for (int i = 0; i < count; i++) objects[i] = new_object(SIZE);
}

static void delete_all(void **objects, int count) {
    for (int i = 0; i < count; i++) delete_sized(objects[i], SIZE);
}

static void free_all(void **objects, int count) {
    for (int i = 0; i < count; i++) release(objects[i]);
}

/* Stays alive, so that its objects belong to a living thread when they are freed. */
static void *other_thread(void *unused) {
    allocate_all(foreign, SMALL_BATCH + LARGE_BATCH);
    pthread_barrier_wait(&allocated);
    pthread_barrier_wait(&finished);
    return unused;
}

static void do_cases(void) {
    mark();
    allocate_all(own, SMALL_BATCH);
    mark();
    free_all(own, SMALL_BATCH);
    mark();
    allocate_all(own, LARGE_BATCH);
    mark();
    free_all(own, LARGE_BATCH);
    mark();
    free_all(foreign, SMALL_BATCH);
    mark();
    free_all(foreign + SMALL_BATCH, LARGE_BATCH);
    for (int batch = SMALL_BATCH; OPERATORS && batch <= LARGE_BATCH; batch += LARGE_BATCH - SMALL_BATCH) {
        mark();
        new_all(own, batch);
        mark();
        delete_all(own, batch);
    }
    mark();
}

int main(int count, char **arguments) {
    (void)arguments;
    allocate = (allocate_function *)dlsym(RTLD_DEFAULT, "malloc");
    release = (free_function *)dlsym(RTLD_DEFAULT, "free");
    new_object = (allocate_function *)dlsym(RTLD_DEFAULT, sizeof(size_t) == 8 ? "_Znwm" : "_Znwj");
    delete_sized = (free_sized_function *)dlsym(RTLD_DEFAULT, sizeof(size_t) == 8 ? "_ZdlPvm" : "_ZdlPvj");
    print_places();

    pthread_t other;
    pthread_barrier_init(&allocated, NULL, 2);
    pthread_barrier_init(&finished, NULL, 2);
    if (pthread_create(&other, NULL, other_thread, NULL) != 0) return 1;
    pthread_barrier_wait(&allocated);
    for (int round = 0; round < ROUNDS; round++) {
        allocate_all(own, LARGE_BATCH);
        free_all(own, LARGE_BATCH);
    }

    if (count > 1) raise(SIGSTOP);
    do_cases();
    if (count > 1) raise(SIGSTOP);
    pthread_barrier_wait(&finished);
    pthread_join(other, NULL);
    return 0;
}
