/* free_suspect.h - frees of objects whose first word looks like a link (frontend/suspect.h). */
#ifndef JW_FREE_SUSPECT_H
#define JW_FREE_SUSPECT_H

/* Frees a small object whose first word may be a link, or reports what is wrong with the address and aborts. */
void free_suspect(void *object);

/* The same for a mid object whose first word is a link. */
void free_mid_suspect(void *object);

#endif
