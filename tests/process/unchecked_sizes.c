/* unchecked_sizes.c - with check_sizes:false a program that deletes objects with a wrong size, or a wrong alignment,
 * goes on: each object is freed as what it is. */
#include "tiers.h"

#if UINTPTR_MAX > 0xffffffffu
#define SIZE "m"
#else
#define SIZE "j"
#endif
void free_sized(void *object, size_t size) __attribute__((weak));
void free_aligned_sized(void *object, size_t alignment, size_t size) __attribute__((weak));
void delete_sized(void *object, size_t size) __asm__("_ZdlPv" SIZE) __attribute__((weak));
void delete_array_sized(void *object, size_t size) __asm__("_ZdaPv" SIZE) __attribute__((weak));
void delete_sized_aligned(void *object, size_t size, size_t alignment) __asm__("_ZdlPv" SIZE "St11align_val_t")
    __attribute__((weak));

static void free_with_wrong_size(char *object, size_t told, unsigned form) {
    if (form == 0) free_sized(object, told);
    else if (form == 1) free_aligned_sized(object, 64, told);
    else if (form == 2) delete_sized(object, told);
    else if (form == 3) delete_array_sized(object, told);
    else if (form == 4) delete_sized_aligned(object, told, 1 << 20);
    else free_aligned_sized(object, 3, told);
}

int main(void) {
    enum { FORMS = 6 };
    static const size_t told[] = {0, 1, 16, 28, 100, 3000, 20000, 5000000};
    if (!free_sized || !free_aligned_sized || !delete_sized || !delete_array_sized || !delete_sized_aligned)
        check_skip("the C library's malloc has no such functions");
    for (size_t i = 0; i < TIERS; i++)
        for (size_t j = 0; j < sizeof told / sizeof *told; j++)
            for (unsigned form = 0; form < FORMS; form++) {
                struct tiers others;
                char *object = malloc(tier_sizes[i]);
                CHECK(object != NULL);
                if (form == 0) tiers_allocate(&others, j);
                pattern_fill(object, tier_checked(tier_sizes[i]), i);
                free_with_wrong_size(object, told[j], form);
                if (form == 0) tiers_free(&others, j);
            }
    free_sized(malloc(0), 100);
    free_sized(NULL, 100);
    tiers_work(1);
    return 0;
}
