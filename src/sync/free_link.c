#include "sync/free_link.h"

const char link_end_word[16];
uint64_t link_secret;
