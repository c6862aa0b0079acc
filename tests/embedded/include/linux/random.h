/* random.h - flags of getrandom. */
#ifndef JW_MOCK_LINUX_RANDOM_H
#define JW_MOCK_LINUX_RANDOM_H

#define GRND_NONBLOCK 1

#endif
