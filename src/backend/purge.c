/* purge.c - whether the time of a purge is over. */
#include "backend/purge.h"

#include "platform/platform.h"

bool purge_is_over(const struct purge *purge) {
    return purge->until != NO_LIMIT && platform_microseconds() >= purge->until;
}
