/* stdio.h - text to descriptors; no file can be opened. */
#ifndef JW_MOCK_STDIO_H
#define JW_MOCK_STDIO_H

#include <stddef.h>

typedef struct mock_file FILE;
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int dprintf(int descriptor, const char *format, ...) __attribute__((format(printf, 2, 3)));
int sscanf(const char *text, const char *format, ...);
FILE *fopen(const char *path, const char *mode);
char *fgets(char *line, int size, FILE *file);
int fclose(FILE *file);

#endif
