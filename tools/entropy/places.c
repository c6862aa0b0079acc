/* places.c - prints where things lie in this start of the process, one a line: a name, and an address. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = {16, 64, 3000, 100 << 10, 8 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 64 };

/* The anonymous mappings that are neither the heap of the C library nor the stack, by their sizes. */
static void print_mappings(void) {
    static char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long long start, end, inode;
        char flags[8], name[256] = "";
        if (sscanf(line, "%llx-%llx %7s %*x %*s %llu %255s", &start, &end, flags, &inode, name) < 4) continue;
        if (inode != 0 || (*name && strncmp(name, "[anon", 5) != 0)) continue;
        printf("mapping-%s-%lluK %llx\n", flags, (end - start) >> 10, start);
    }
}

int main(void) {
    static uintptr_t places[SIZES];
    int local = 0;
    for (unsigned i = 0; i < SIZES; i++) places[i] = (uintptr_t)malloc(sizes[i]);
    for (unsigned i = 0; i < SIZES; i++) printf("object-%zuB %llx\n", sizes[i], (unsigned long long)places[i]);
    printf("libc %llx\nstack %llx\n", (unsigned long long)(uintptr_t)&fprintf, (unsigned long long)(uintptr_t)&local);
    print_mappings();
    return 0;
}
