/* wait.h - waiting for a child. */
#ifndef JW_MOCK_SYS_WAIT_H
#define JW_MOCK_SYS_WAIT_H

int waitpid(int process, int *status, int options);

#endif
