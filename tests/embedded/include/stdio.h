/* stdio.h - text to descriptors, and one stream, which goes to memory. */
#ifndef JW_MOCK_STDIO_H
#define JW_MOCK_STDIO_H

#include <stddef.h>

typedef struct mock_file FILE;
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int dprintf(int descriptor, const char *format, ...) __attribute__((format(printf, 2, 3)));
int sscanf(const char *text, const char *format, ...);
FILE *open_memstream(char **text, size_t *length);
size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file);
int ferror(FILE *file);
FILE *fopen(const char *path, const char *mode);
char *fgets(char *line, int size, FILE *file);
int fclose(FILE *file);

#endif
