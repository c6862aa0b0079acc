/* unistd.h - what the platform layer and the tests use. */
#ifndef JW_MOCK_UNISTD_H
#define JW_MOCK_UNISTD_H

#include <stddef.h>

#define STDERR_FILENO 2
#define _SC_PAGESIZE 30
extern char **environ;
int fork(void);
long sysconf(int name);
_Noreturn void _exit(int code);

#endif
