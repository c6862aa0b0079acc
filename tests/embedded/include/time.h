/* time.h - the clocks. */
#ifndef JW_MOCK_TIME_H
#define JW_MOCK_TIME_H

#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_MONOTONIC_COARSE 6
struct timespec {
    long tv_sec, tv_nsec;
};
int clock_gettime(int clock, struct timespec *now);

#endif
