/* string.h - the functions that the core and the tests use. */
#ifndef JW_MOCK_STRING_H
#define JW_MOCK_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *one, const void *other, size_t size);
size_t strlen(const char *text);
int strcmp(const char *one, const char *other);
int strncmp(const char *one, const char *other, size_t size);
size_t strspn(const char *text, const char *accepted);
size_t strcspn(const char *text, const char *refused);
char *strchr(const char *text, int letter);
char *strstr(const char *text, const char *part);

#endif
