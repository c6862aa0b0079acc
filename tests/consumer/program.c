/* program.c - an ordinary program with the allocator linked in, in whatever way. */
#include <jwmalloc.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    void *object = jw_malloc(100);
    if (object == NULL) return 1;
    memset(object, 1, 100);
    jw_free(object);
    puts(jw_version());
    return strcmp(jw_version(), JW_VERSION) != 0;
}
