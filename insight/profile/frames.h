/* frames.h - the calling thread's return addresses, mostly without the unwinder, which needs 1,200 instructions a call.
 *
 * On x86-64 a return address is right below the stack pointer that its function then has. The way from there to the
 * next one is the function's frame, which mostly has one size at one address. Each stack from the unwinder teaches the
 * sizes; the next stack is read by them. It is taken only if each address on the way is known, and if it ends where
 * this thread's stack ended before. Addresses whose frames differ are left to the unwinder. */
#ifndef JW_PROFILE_FRAMES_H
#define JW_PROFILE_FRAMES_H

/* The innermost first, from the caller of the calling function on; how many. -1: another thread is in the unwinder. */
int frames_now(void **frames, int most);
void frames_forget(void); /* a library was unloaded */

#endif
