/* mallopt.h - the answers of mallopt to parameters that change nothing here; mallopt.def lists them. */
#ifndef JW_MALLOPT_H
#define JW_MALLOPT_H

#include <stdbool.h>

/* Whether what the parameter's value asks for is so already. False for a parameter that is not in the table. */
bool platform_parameter_holds(int parameter, int value);

#endif
