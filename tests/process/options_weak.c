/* options_weak.c - a program that brings its options in the symbol jw_malloc_conf; options.py reads what it prints. */
#include "tiers.h"

extern const char *jw_malloc_conf;
__attribute__((visibility("default"))) const char *jw_malloc_conf = "stats:exit,stats_format:json";

int main(void) {
    tiers_work(1);
    return 0;
}
