/* remote_reclaim.h - rounds give back the memory of slabs whose objects came back through the cross list, whatever
 * their owner does: it may sleep for ever.
 *
 * A slab is free when its cross list has all objects that are out. No correct free can reach such a slab. Of the
 * owner's code only the slow paths touch it. The cross word decides between owner and round. The slab's page goes back;
 * the slab stays the owner's and in its list, and is as new when the owner next comes to it.
 *
 *   cross    means                               left by
 *   list     objects; not marked full            a round that looks at it: watched
 *   watched  list and WATCHED: nothing has       push: list, and a round is wanted
 *            happened since a round looked       the owner (slab_regain): list
 *                                                the next round, or one that gives all back, if it is free: giving
 *   giving   count, WATCHED, GIVING: a           that round: given, or kept where the OS refuses
 *            round gives the page back
 *   given    count, WATCHED, GIVEN               the owner: 0; the slab is as new
 *   kept     count, WATCHED, KEPT                the owner, as given; a later round: giving
 *
 * A round learns from the slab's state and budget how many objects are out. The owner's own frees are not published.
 * So a round adds up what is out of watched slabs that are not free. If the sum has changed by REMOTE_ROUND_FROM or
 * more, owners are freeing, and the next round looks, too. While something is out, rounds that come for another reason
 * look. Where others have freed most of many slabs, the owner may free the rest later. So some more rounds come, each
 * after a longer wait (QUIET_ROUNDS). An owner that waits longer is not waited for: an idle process must sleep.
 *
 * The round may read a number that is too large, never one that is too small: the budget is written before the state.
 * So if the cross list has as many objects, all objects are free. This holds only while the slab is FULL, WANTED or
 * PARTIAL. When the owner takes the slab up again, slab_regain writes the state, then removes WATCHED. Only rounds set
 * WATCHED in a word that no round has taken, one round at a time; an owner that finds its slab taken puts it back. So
 * either the round sees that state, or its step to `giving` fails.
 *
 * If the owner finds `giving`, it leaves the slab in its list and takes another one. The owner may still write the link
 * of its last own free after the page has gone. Then the page comes back, and stays until the owner comes to the slab
 * and drops the list.
 *
 * Invariant: while a slab is taken (giving, given, kept) its count is what is out. A larger number of own frees is a
 * double free, which the owner finds when it comes to the slab. Progress: round, push and owner are lock-free.
 * Verified by verify/clients/remote_*.c.
 */
#ifndef JW_REMOTE_RECLAIM_H
#define JW_REMOTE_RECLAIM_H

#include <stdbool.h>

#include "base/compiler.h"

/* Gives back free slabs that no thread has touched since the last round; `now`: all free slabs. Part of a round. True:
 * there are slabs for a later round. While another thread is in a round, `now` asks that thread for one more pass. */
bool remote_reclaim_round(bool now);

/* Whether others have freed most of so many slabs that rounds must look again. A round tells Thrift of them so. */
wide_bool remote_reclaim_waits(void);

struct purge;

/* A step of a purge (core/purge.h): as remote_reclaim_round(true), root by root. If another thread has asked for one
 * more pass meanwhile, this is one more piece, which looks at all roots. */
bool remote_reclaim_purge(struct purge *purge);

/* In the child of a fork: forgets that a thread of the parent was in a round. */
void remote_reclaim_after_fork(void);

#endif
