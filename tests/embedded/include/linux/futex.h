/* futex.h - operations of futex. */
#ifndef JW_MOCK_LINUX_FUTEX_H
#define JW_MOCK_LINUX_FUTEX_H

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

#endif
