/* resource.h - limits and niceness. */
#ifndef JW_MOCK_SYS_RESOURCE_H
#define JW_MOCK_SYS_RESOURCE_H

#define RLIMIT_DATA 2
#define RLIMIT_AS 9
#define RLIMIT_RTPRIO 14
#define PRIO_PROCESS 0

#endif
