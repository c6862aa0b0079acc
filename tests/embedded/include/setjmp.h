/* setjmp.h - nothing: the tests' own cmocka does not jump. */
#ifndef JW_MOCK_SETJMP_H
#define JW_MOCK_SETJMP_H

#endif
