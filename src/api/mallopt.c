/* mallopt.c - answers by the table in mallopt.def. */
#include "api/mallopt.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "platform/tags.h"

/* Bounds of values; a range that ends before it begins has none. */
struct answer {
    int16_t code;
    int8_t least;
    int most;
};

#define NEVER 1, 0
#define VALUES(least, most) least, most
#define ANSWER(code, least, most)                                                                                      \
    { code, least, most }
#if JW_SECURE
#define SAYS(platform, name, code, plain, hardened, meaning, ours) ANSWER(code, hardened),
#else
#define SAYS(platform, name, code, plain, hardened, meaning, ours) ANSWER(code, plain),
#endif
#define ACTS(platform, name, code, meaning, ours)

static const struct answer answers[] = {
#include "api/mallopt.def"
};

/* The two of Android's that are about tags. */
enum { MEMTAG_TUNING = -102, HEAP_TAGGING_LEVEL = -204 };

bool platform_parameter_holds(int parameter, int value) {
    if (tags_active && (parameter == MEMTAG_TUNING || parameter == HEAP_TAGGING_LEVEL)) return false;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (answers[i].code == parameter) return value >= answers[i].least && value <= answers[i].most;
    return false;
}
