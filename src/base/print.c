/* print.c - text and numbers into a small buffer, without libc (print.h). */
#include "base/print.h"

enum { DIGITS_MAX = 20 }; /* of 2^64 - 1 in decimal */

static void print_byte(struct print_buffer *buffer, char byte) {
    buffer->column = byte == '\n' ? 0 : buffer->column + 1;
    if (buffer->length == buffer->size) print_flush(buffer);
    if (buffer->length < buffer->size) buffer->data[buffer->length++] = byte;
}

void print_to_column(struct print_buffer *buffer, size_t column) {
    while (buffer->column < column) print_byte(buffer, ' ');
}

void print_bytes(struct print_buffer *buffer, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) print_byte(buffer, bytes[i]);
}

struct print_buffer *print_text(struct print_buffer *buffer, const char *text) {
    while (*text != '\0') print_byte(buffer, *text++);
    return buffer;
}

void print_unsigned_padded(struct print_buffer *buffer, uint64_t value, unsigned width) {
    char digits[DIGITS_MAX];
    unsigned count = 0;
    do {
        digits[DIGITS_MAX - ++count] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    if (count < width) print_to_column(buffer, buffer->column + width - count);
    print_bytes(buffer, digits + DIGITS_MAX - count, count);
}

void print_unsigned(struct print_buffer *buffer, uint64_t value) {
    print_unsigned_padded(buffer, value, 0);
}

void print_hex(struct print_buffer *buffer, uint64_t value) {
    print_text(buffer, "0x");
    unsigned shift = 60;
    while (shift > 0 && value >> shift == 0) shift -= 4;
    for (;; shift -= 4) {
        print_byte(buffer, "0123456789abcdef"[value >> shift & 15]);
        if (shift == 0) break;
    }
}

struct print_buffer *print_foreign(struct print_buffer *buffer, const char *bytes, size_t length, size_t limit) {
    for (size_t i = 0; i < length && i < limit; i++)
        print_byte(buffer, bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '?');
    return length > limit ? print_text(buffer, "...") : buffer;
}

void print_flush(struct print_buffer *buffer) {
    if (buffer->sink == NULL) return;
    if (buffer->length > 0) buffer->sink(buffer->cookie, buffer->data, buffer->length);
    buffer->length = 0;
}
