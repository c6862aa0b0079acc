/* print.h - text from inside malloc: no allocation, no locale, no libc.
 *
 * Text is collected in the caller's buffer. With a sink, each full buffer is passed to it, so a report of any length
 * needs only a few hundred bytes of stack. Without one, text that does not fit is cut off.
 */
#ifndef JW_PRINT_H
#define JW_PRINT_H

#include <stddef.h>
#include <stdint.h>

typedef void print_sink(void *cookie, const char *text, size_t length);

struct print_buffer {
    char *data;
    size_t size, length, column; /* column: bytes since the last end of a line */
    print_sink *sink;            /* NULL: the text stays in the buffer */
    void *cookie;
};

void print_bytes(struct print_buffer *buffer, const char *bytes, size_t length);

/* Returns the buffer, as print_foreign does: a caller that goes on with it has it where the next call wants it. */
struct print_buffer *print_text(struct print_buffer *buffer, const char *text);

void print_unsigned(struct print_buffer *buffer, uint64_t value);
void print_hex(struct print_buffer *buffer, uint64_t value); /* with 0x in front */

/* Right-aligned in `width` columns; wider values are printed whole. */
void print_unsigned_padded(struct print_buffer *buffer, uint64_t value, unsigned width);

/* Spaces up to this column. */
void print_to_column(struct print_buffer *buffer, size_t column);

/* Bytes that the program chose: at most `limit` of them, unprintable ones as '?', so that a message stays one line. */
struct print_buffer *print_foreign(struct print_buffer *buffer, const char *bytes, size_t length, size_t limit);

/* Passes the text that is still in the buffer to the sink. */
void print_flush(struct print_buffer *buffer);

#endif
