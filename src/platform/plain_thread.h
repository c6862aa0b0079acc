/* plain_thread.h - whether the reclamation thread is an ordinary thread of libc. Sanitizers need that: they keep a
 * thread's state in thread-local storage. An ordinary thread is not confined, because the sanitizers' own system calls
 * would be refused. The model checker uses only the sanitizers' instrumentation, and defines 0. */
#ifndef JW_PLAIN_THREAD_H
#define JW_PLAIN_THREAD_H

#ifndef PLAIN_THREAD
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define PLAIN_THREAD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define PLAIN_THREAD 1
#endif
#endif
#endif
#ifndef PLAIN_THREAD
#define PLAIN_THREAD 0
#endif

#endif
