/* free_link.c - the two words that links are made with: the end of every list, and the hardened build's secret. */
#include "sync/free_link.h"

_Alignas(16) const char link_end_word[16];
uint64_t link_secret;
