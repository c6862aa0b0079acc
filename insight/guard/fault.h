/* fault.h - the handler of SIGSEGV in front of the program's own. */
#ifndef JW_GUARD_FAULT_H
#define JW_GUARD_FAULT_H

void fault_begin(void);
void fault_in_child(void);
#endif
