/* knit_model.h - the sibling tree with pointers and without a thought for speed: what Knit must agree with. */
#ifndef JW_TESTS_KNIT_MODEL_H
#define JW_TESTS_KNIT_MODEL_H

#include <stdlib.h>

#include "backend/knit.h"
#include "backend/weights.h"
#include "check.h"

struct node {
    granule_id start;
    uint32_t weight;
    unsigned unit;        /* of an inner node */
    enum slot_code state; /* of a leaf */
    struct node *parent, *first, *next, *previous;
};

static inline bool in_s3(uint32_t weight) {
    while (weight > 8 && weight % 2 == 0) weight /= 2;
    return weight >= 1 && weight <= 8;
}

static inline struct node *model_node(struct node *parent, granule_id start, uint32_t weight, enum slot_code state) {
    struct node *node = calloc(1, sizeof *node);
    CHECK(node);
    node->parent = parent;
    node->start = start;
    node->weight = weight;
    node->state = state;
    return node;
}

/* The m of the first n that gives weight = n * 2^m, n counted down from 8 or up from 1. */
static inline unsigned unit_by(uint32_t weight, bool largest) {
    for (unsigned i = 1; i <= 8; i++) {
        uint32_t n = largest ? 9 - i : i, rest = weight / n;
        if (rest * n == weight && (rest & (rest - 1)) == 0) return (unsigned)__builtin_ctz(rest);
    }
    CHECK(!"a weight in S(3)");
    return 0;
}

/* One step of Algorithm 1. Returns the right part; the left part takes the place of the node, or becomes its first
 * child: *left. */
static inline struct node *model_split(struct node *node, uint32_t wanted, struct node **left) {
    unsigned fine = unit_by(node->weight, true), coarse = unit_by(wanted, false);
    uint32_t units = (wanted - 1) / (1u << fine) + 1, odd = wanted >> coarse;
    if (odd == 3 || odd == 5) units = 3;
    uint32_t part = fine <= coarse ? wanted : units * (1u << fine), rest = node->weight - part;
    CHECK(part < node->weight && in_s3(part) && in_s3(rest));
    struct node *parent = node->parent;
    if (parent && part % (1u << parent->unit) == 0) {
        struct node *right = model_node(parent, node->start + part, rest, IN_USE);
        node->weight = part;
        right->previous = node;
        right->next = node->next;
        if (node->next) node->next->previous = right;
        node->next = right;
        *left = node;
        return right;
    }
    node->unit = fine;
    node->first = *left = model_node(node, node->start, part, IN_USE);
    struct node *right = (*left)->next = model_node(node, node->start + part, rest, IN_USE);
    right->previous = *left;
    return right;
}

/* Joins two adjacent leaves; the parent where they were all its children. */
static inline struct node *model_join(struct node *left, struct node *right) {
    struct node *parent = left->parent;
    left->weight += right->weight;
    left->next = right->next;
    if (right->next) right->next->previous = left;
    free(right);
    if (left->previous || left->next) return left;
    free(left);
    parent->first = NULL;
    parent->state = IN_USE;
    return parent;
}

/* The leaf on that side that a holder can take for a join: free in this state, or left. */
static inline struct node *model_sibling(const struct node *leaf, enum side side, enum slot_code state) {
    struct node *sibling = side == ON_THE_LEFT ? leaf->previous : leaf->next;
    return sibling && !sibling->first && (sibling->state == state || sibling->state == LEFT) ? sibling : NULL;
}

/* Whether a neighbour is free in just this state, so that the leaf may not be released in it. */
static inline bool model_refuses(const struct node *leaf, enum slot_code state) {
    const struct node *left = leaf->previous, *right = leaf->next;
    return (left && !left->first && left->state == state) || (right && !right->first && right->state == state);
}

static inline size_t model_leaves(struct node *node, struct node **leaves, size_t count) {
    if (!node->first) {
        leaves[count++] = node;
        return count;
    }
    for (struct node *child = node->first; child; child = child->next) count = model_leaves(child, leaves, count);
    return count;
}

#endif
