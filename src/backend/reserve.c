/* reserve.c - the variables of the reserve; reserve_roots.c makes it. */
#include "backend/reserve.h"

_Atomic(uint32_t) reserve_users, reserve_is_there;

#if HAS_RESERVE
_Thread_local uint32_t reserve_mine __attribute__((tls_model("initial-exec")));
#endif
