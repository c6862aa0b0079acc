/* containers.cpp - what programs do with C++'s containers (containers.h). */
#include "containers.h"

#include <cstdlib>
#include <list>
#include <map>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

constexpr uint32_t kept = 64, most_nodes = 2000;

/* A sum that depends on all that was made: so nothing is left out. */
volatile uint64_t seen;

using numbers = std::minstd_rand;

uint32_t below(numbers &random, uint32_t bound) {
    return random() % bound;
}

} // namespace

/* Vectors of 1 to 2,048 numbers grow one by one: each power of two is an object. */
void fill_vectors(uint64_t objects, uint32_t seed) {
    numbers random(seed);
    std::vector<std::vector<uint32_t>> vectors(kept);
    for (uint64_t made = 0; made < objects;) {
        std::vector<uint32_t> vector;
        const uint32_t doublings = below(random, 12), length = 1u << doublings;
        for (uint32_t i = 0; i < length; i++) vector.push_back(i);
        made += doublings + 1;
        seen = seen + vector.back();
        vectors[below(random, kept)] = std::move(vector);
    }
}

/* Texts are put together and cut, and some are kept. */
void fill_strings(uint64_t objects, uint32_t seed) {
    numbers random(seed);
    std::vector<std::string> strings(most_nodes);
    for (uint64_t made = 0; made < objects; made += 3) {
        std::string text = strings[below(random, most_nodes)].substr(0, 200);
        text += std::string(1 + below(random, 100), 'x');
        std::string &place = strings[below(random, most_nodes)];
        place = text + "/" + std::to_string(made);
        seen = seen + place.size();
    }
}

void fill_maps(uint64_t objects, uint32_t seed) {
    numbers random(seed);
    std::map<uint32_t, uint64_t> map;
    for (uint64_t made = 0; made < objects; made++) {
        map[below(random, 1u << 20)] = made;
        if (map.size() > most_nodes) map.erase(map.lower_bound(below(random, 1u << 19)));
    }
    seen = seen + map.size();
}

/* Many lists at once: each grows at its end and shrinks at its start. */
void fill_lists(uint64_t objects, uint32_t seed) {
    numbers random(seed);
    std::vector<std::list<uint64_t>> lists(kept);
    for (uint64_t made = 0; made < objects; made++) {
        std::list<uint64_t> &list = lists[below(random, kept)];
        list.push_back(made);
        if (list.size() > most_nodes / kept) list.pop_front();
        if (made % 5000 == 0) list.clear();
    }
    seen = seen + lists[0].size();
}

void fill_sets(uint64_t objects, uint32_t seed) {
    numbers random(seed);
    while (objects > 0) {
        std::unordered_set<std::string> set;
        const uint32_t length = 1 + below(random, most_nodes);
        for (uint32_t i = 0; i < length; i++) set.insert("a name that is long enough " + std::to_string(random()));
        seen = seen + set.size();
        objects -= objects < 2 * length ? objects : 2 * length;
    }
}
