/* remote_suspect - the owner settles the note of a suspect, which another thread has freed. Meanwhile a round looks at
 * the suspect's slab to give its memory back.
 *
 * bound     2 threads at a time: 1 suspect pushed before; 1 round that gives all back beside 1 refill; a slab of 3
 *           objects, of which others have freed 1 and the owner 1
 * property  no memory goes while an object of it is in use or waits in a note; each object is freed once, the note, too
 */
#include "frontend/heap_table.h"
#include "frontend/suspect.h"
#include "verify/clients/remote.h"

enum { SIZE = 80, SLAB = 3 };

static uint64_t *suspect;

static void *freeing(void *unused) {
    (void)unused;
    jw_free(suspect);
    model_thread_exit();
    return NULL;
}

int main(void) {
    begin(SIZE, SLAB + 1); /* a full slab, and a current one */
    give(objects[0], SIZE, 0);
    uint64_t link = *objects[0], *others[2]; /* all of the current one */
    assert(slab_state(slab_of(objects[0])) == PARTIAL);
    for (size_t i = 0; i < 2; i++) others[i] = get(SIZE, 20 + i);
    finish(start_free(1));
    suspect = objects[2];
    *suspect = link ^ (uintptr_t)objects[0] ^ (uintptr_t)suspect; /* a link to the same place, from here */
    finish(start(freeing, NULL));
    struct heap *heap = heap_of(slab_of(suspect));
    assert(heap_has_suspects(heap));
    pthread_t b = start(remote_round, ALL);
    heap_settle_suspects(heap);
    uint64_t *later = get(SIZE, 10);
    finish(b);
    give(later, SIZE, 10);
    for (size_t i = 0; i < 2; i++) give(others[i], SIZE, 20 + i);
    give(objects[SLAB], SIZE, SLAB);
    expect_nothing_left();
    return 0;
}
