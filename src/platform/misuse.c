/* misuse.c - the last words of a process: base/misuse.h and base/assert.h. */
#include "base/misuse.h"
#include "base/assert.h"
#include "base/print.h"
#include "platform/platform.h"

enum { LINE_MAX_BYTES = 512 };

static _Noreturn void end(struct print_buffer *line)
{
    if (line->length == line->size) line->length--; /* cut off: the newline must still fit */
    print_text(line, "\n");
    platform_write(line->data, line->length); /* one write, so that lines of several processes do not mix */
    platform_abort();
}

COLD _Noreturn void misuse(const char *kind, const void *address, const char *where)
{
    char data[LINE_MAX_BYTES];
    struct print_buffer line = {.data = data, .size = sizeof data};
    print_text(&line, "jwmalloc: ");
    print_text(&line, kind);
    print_text(&line, ": address ");
    print_hex(&line, (uintptr_t)address);
    print_text(&line, " (");
    print_text(&line, where);
    print_text(&line, ")");
    end(&line);
}

COLD _Noreturn void invariant_broken(const char *condition, const char *file, int number)
{
    char data[LINE_MAX_BYTES];
    struct print_buffer line = {.data = data, .size = sizeof data};
    print_text(&line, "jwmalloc: invariant broken: ");
    print_text(&line, condition);
    print_text(&line, " (");
    print_text(&line, file);
    print_text(&line, ":");
    print_unsigned(&line, (unsigned)number);
    print_text(&line, ")");
    end(&line);
}
