/* serving_tier.h - the tiers that serve objects, from the smallest to the largest. A request belongs to a tier by its
 * size (core/route.h); each of our addresses lies in one (misuse.h).
 */
#ifndef JW_SERVING_TIER_H
#define JW_SERVING_TIER_H

enum serving_tier { TIER_NONE, TIER_SMALL, TIER_MID, TIER_LARGE, TIER_HUGE };

#endif
