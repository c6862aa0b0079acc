/* assert.h - stands for GenMC's header of that name where GenMC is not installed: the clients compile as for GenMC. */
#ifndef JW_MODEL_ASSERT_H
#define JW_MODEL_ASSERT_H

#undef assert

void __VERIFIER_assert_fail(const char *condition, const char *file, int line);

#define assert(condition) ((condition) ? (void)0 : __VERIFIER_assert_fail(#condition, __FILE__, __LINE__))

#endif
