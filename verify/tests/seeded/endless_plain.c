/* expect: endless
 * A walk along a list that bites its own tail; no atomic operation in sight.
 */
#include "verify/clients/client.h"

static struct node {
    struct node *volatile next;
} nodes[3];

int main(void) {
    nodes[0].next = &nodes[1];
    nodes[1].next = &nodes[2];
#ifndef CORRECTED
    nodes[2].next = &nodes[1];
#endif
    for (struct node *node = nodes; node; node = node->next) continue;
    return 0;
}
