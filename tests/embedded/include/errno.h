/* errno.h - the calling thread's error, and its values. */
#ifndef JW_MOCK_ERRNO_H
#define JW_MOCK_ERRNO_H

int *mock_errno(void);
#define errno (*mock_errno())

#define ENOENT 2
#define EINTR 4
#define EIO 5
#define EAGAIN 11
#define ENOMEM 12
#define EPERM 1
#define EBUSY 16
#define EEXIST 17
#define EINVAL 22
#define ENOSYS 38
#define ENOTSUP 95
#define ETIMEDOUT 110

#endif
