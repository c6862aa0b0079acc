/* suspects.h - frees of objects whose first word reads as a link (frontend/suspect.h): whose question each is. */
#ifndef JW_SUSPECTS_H
#define JW_SUSPECTS_H

/* Frees a small object whose first word may be a link, or says what is wrong with the address and aborts. */
void free_suspect(void *object);

/* The same of a mid object whose first word is a link. */
void free_mid_suspect(void *object);

#endif
