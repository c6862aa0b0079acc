/* signal.h - numbers of the signals and of what is done to masks. */
#ifndef JW_MOCK_SIGNAL_H
#define JW_MOCK_SIGNAL_H

#define SIGABRT 6
#define SIGPIPE 13
#define SIGCHLD 17
#define SIG_BLOCK 0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

#endif
