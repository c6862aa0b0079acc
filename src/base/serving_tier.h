/* serving_tier.h - the tiers that serve objects, from the smallest to the largest. A request's size has one
 * (core/route.h), and each address of ours (misuse.h).
 */
#ifndef JW_SERVING_TIER_H
#define JW_SERVING_TIER_H

enum serving_tier { TIER_NONE, TIER_SMALL, TIER_MID, TIER_LARGE, TIER_HUGE };

#endif
