/* empty.c - a program that does nothing but one allocation: what an allocator costs at start. With "wait" it then waits
 * for a line on standard input, so that its memory can be read.
 */
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
    (void)arguments;
    char line, *volatile object = malloc(64);
    if (object == NULL) return 1;
    *object = 1;
    if (count > 1) return write(STDOUT_FILENO, "\n", 1) == 1 && read(STDIN_FILENO, &line, 1) >= 0 ? 0 : 1;
    return 0;
}
