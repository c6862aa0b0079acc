/* seal_roots.h - jw_seal (sealed.h, docs/protocols/seal.md). */
#ifndef JW_SEAL_ROOTS_H
#define JW_SEAL_ROOTS_H

/* Seals all roots. Returns what jw_seal does. */
int seal_roots(void);

#endif
