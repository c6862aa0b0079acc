/* misuse.c - the last words of a process: base/misuse.h and base/assert.h. */
#include "base/misuse.h"
#include "base/assert.h"
#include "base/print.h"
#include "platform/platform.h"

enum { LINE_MAX_BYTES = 512 };

static _Noreturn void end(struct print_buffer *text) {
    if (text->length == text->size) text->length--; /* cut off: the newline must still fit */
    print_text(text, "\n");
    platform_write(text->data, text->length); /* one write, so that lines of several processes do not mix */
    platform_abort();
}

COLD _Noreturn void misuse(const char *kind, const void *address, const char *where) {
    char data[LINE_MAX_BYTES];
    struct print_buffer text = {.data = data, .size = sizeof data};
    print_text(&text, "jwmalloc: ");
    print_text(&text, kind);
    print_text(&text, ": address ");
    print_hex(&text, (uintptr_t)address);
    print_text(&text, " (");
    print_text(&text, where);
    print_text(&text, ")");
    end(&text);
}

COLD _Noreturn void invariant_broken(const char *condition, const char *file, int line) {
    char data[LINE_MAX_BYTES];
    struct print_buffer text = {.data = data, .size = sizeof data};
    print_text(&text, "jwmalloc: invariant broken: ");
    print_text(&text, condition);
    print_text(&text, " (");
    print_text(&text, file);
    print_text(&text, ":");
    print_unsigned(&text, (unsigned)line);
    print_text(&text, ")");
    end(&text);
}
