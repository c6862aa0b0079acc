/* fcntl.h - for openat and fcntl. */
#ifndef JW_MOCK_FCNTL_H
#define JW_MOCK_FCNTL_H

#define AT_FDCWD (-100)
#define AT_EMPTY_PATH 0x1000
#define O_RDONLY 0
#define O_WRONLY 1
#define O_CREAT 0100
#define O_NOCTTY 0400
#define O_APPEND 02000
#define O_NONBLOCK 04000
#define O_CLOEXEC 02000000
#define F_DUPFD_CLOEXEC 1030

#endif
