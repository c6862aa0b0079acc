/* realtime.h - the reserve of real-time threads (backend/reserve.h), as the program asks for it. */
#ifndef JW_REALTIME_H
#define JW_REALTIME_H

#include <stddef.h>

/* As jw_realtime_reserve, but returns the error, 0: none. */
int realtime_reserve(size_t size);

#endif
