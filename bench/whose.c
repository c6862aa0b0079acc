/* whose.c - prints which library serves malloc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    Dl_info info;
    void *volatile object = malloc(100);
    void *found = dlsym(RTLD_DEFAULT, "malloc");
    if (object == NULL || dladdr(found, &info) == 0) return 1;
    free(object);
    puts(info.dli_fname);
    return 0;
}
