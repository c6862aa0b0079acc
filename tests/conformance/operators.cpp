/* operators.cpp - C++: each new and delete, new-handlers, bad_alloc without memory, the library's containers. */
#include "cases.h"

#include <sys/resource.h>

#include <deque>
#include <exception>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

template <typename Body> bool throws_bad_alloc(Body body) {
    try {
        body();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

void *volatile sink; /* or the compiler leaves a pair of new and delete out */

void all_forms(std::size_t size, std::size_t) {
    const std::align_val_t alignment{256};
    for (int i = 0; i < 10; i++) {
        ::operator delete(sink = ::operator new(size));
        ::operator delete[](sink = ::operator new[](size));
        ::operator delete(sink = ::operator new(size, std::nothrow), std::nothrow);
        ::operator delete[](sink = ::operator new[](size, std::nothrow), std::nothrow);
        ::operator delete(sink = ::operator new(size), size);
        ::operator delete[](sink = ::operator new[](size), size);
        void *aligned = sink = ::operator new(size, alignment);
        CHECK(reinterpret_cast<std::uintptr_t>(aligned) % 256 == 0);
        pattern_fill(aligned, size, 1);
        ::operator delete(aligned, alignment);
        ::operator delete[](sink = ::operator new[](size, alignment), alignment);
        ::operator delete(sink = ::operator new(size, alignment, std::nothrow), alignment, std::nothrow);
        ::operator delete[](sink = ::operator new[](size, alignment, std::nothrow), alignment, std::nothrow);
        ::operator delete(sink = ::operator new(size, alignment), size, alignment);
        ::operator delete[](sink = ::operator new[](size, alignment), size, alignment);
        std::free(sink = ::operator new(size)); /* as many programs do */
    }
    ::operator delete(nullptr);
    ::operator delete[](nullptr, std::nothrow);
}

void impossible_new(std::size_t size, std::size_t) {
    const std::align_val_t alignment{64};
    CHECK(throws_bad_alloc([&] { sink = ::operator new(size); }));
    CHECK(throws_bad_alloc([&] { sink = ::operator new[](size); }));
    CHECK(::operator new(size, std::nothrow) == nullptr);
    CHECK(::operator new[](size, std::nothrow) == nullptr);
    if (size > SIZE_MAX - 64) return; /* libstdc++'s own rounds these up to 0 */
    CHECK(throws_bad_alloc([&] { sink = ::operator new(size, alignment); }));
    CHECK(throws_bad_alloc([&] { sink = ::operator new[](size, alignment); }));
    CHECK(::operator new(size, alignment, std::nothrow) == nullptr);
    CHECK(::operator new[](size, alignment, std::nothrow) == nullptr);
    tiers_work(1);
}

void array_too_long(std::size_t count, std::size_t) {
    volatile std::size_t length = count;
    CHECK(throws_bad_alloc([&] { sink = new long double[length]; }));
    std::vector<int> vector;
    bool refused = false;
    try {
        vector.reserve(length);
    } catch (const std::exception &) {
        refused = true;
    }
    CHECK(refused);
}

/* --- new-handlers */

void *reserve;
int handled;

void release_reserve() {
    handled++;
    std::free(reserve);
    reserve = nullptr;
    std::set_new_handler(nullptr);
}

void limit_addresses(std::size_t room) {
    struct rlimit limits = {proc_bytes("/proc/self/status", "VmSize") + room, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limits) == 0);
}

/* Not enough memory for two of these; the handler gives one back. */
void handler_finds_memory(std::size_t nothrow, std::size_t) {
    reserve = std::malloc(40 * MB);
    limit_addresses(24 * MB);
    std::set_new_handler(release_reserve);
    void *object = nothrow ? ::operator new(40 * MB, std::nothrow) : ::operator new(40 * MB);
    CHECK(object != nullptr && handled == 1);
    ::operator delete(object);
}

struct own_exception {};

void throw_own() {
    throw own_exception();
}

void throw_bad() {
    handled++;
    throw std::bad_alloc();
}

void handler_throws(std::size_t own, std::size_t) {
    std::set_new_handler(own ? throw_own : throw_bad);
    bool caught = false;
    try {
        sink = ::operator new(SIZE_MAX / 4);
    } catch (const own_exception &) {
        caught = own;
    } catch (const std::bad_alloc &) {
        caught = !own;
    }
    CHECK(caught);
    if (!own) CHECK(::operator new(SIZE_MAX / 4, std::nothrow) == nullptr);
    if (!own) CHECK(::operator new[](SIZE_MAX / 4, std::align_val_t{64}, std::nothrow) == nullptr &&handled == 3);
}

void exit_in_handler() {
    std::_Exit(0);
}

void handler_exits(std::size_t, std::size_t) {
    std::set_new_handler(exit_in_handler);
    sink = ::operator new(SIZE_MAX / 4);
    CHECK(false);
}

/* --- When memory ends: exceptions, nothing lost */

void fill_until_memory_ends(std::size_t size, std::size_t) {
    limit_addresses(48 * MB);
    std::size_t first = 0;
    for (int round = 0; round < 3; round++) {
        std::list<std::unique_ptr<char[]>> objects;
        CHECK(throws_bad_alloc([&] {
            for (;;) objects.emplace_back(new char[size]);
        }));
        if (round == 0) first = objects.size();
        CHECK(objects.size() * size > 8 * MB && objects.size() >= first - first / 8);
    }
    tiers_work(1);
}

void containers_until_memory_ends(std::size_t which, std::size_t) {
    limit_addresses(32 * MB);
    for (int round = 0; round < 2; round++) {
        std::vector<std::string> vector;
        std::map<int, std::string> map;
        std::unordered_map<int, std::string> table;
        std::deque<std::string> deque;
        CHECK(throws_bad_alloc([&] {
            for (int i = 0;; i++) {
                std::string text(static_cast<std::size_t>(i % 3000), 'x');
                if (which == 0) vector.push_back(text);
                if (which == 1) map[i] = text;
                if (which == 2) table[i] = text;
                if (which == 3) deque.push_front(text);
            }
        }));
    }
}

/* --- Threads, thread-local objects, the library */

struct holder {
    std::vector<std::string> words = std::vector<std::string>(100, std::string(50, 'w'));
    ~holder() {
        words.emplace_back(1000, 'z');
        std::string(3000, 'y').swap(words[0]);
    }
};

thread_local holder local;
holder global;

void thread_local_objects(std::size_t count, std::size_t) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; i++) threads.emplace_back([] { local.words.emplace_back("more"); });
    for (std::thread &thread : threads) thread.join();
    global.words.emplace_back("more");
}

void futures(std::size_t count, std::size_t) {
    std::vector<std::future<std::string>> results;
    for (std::size_t i = 0; i < count; i++)
        results.push_back(std::async(std::launch::async, [i] { return std::string(i * 50, 'f'); }));
    for (std::size_t i = 0; i < count; i++) CHECK(results[i].get().size() == i * 50);
}

void exceptions(std::size_t depth, std::size_t) {
    for (int i = 0; i < 100; i++) {
        try {
            std::vector<std::string> kept(10, std::string(100, 'a'));
            if (depth > 0) exceptions(depth - 1, 0);
            throw std::runtime_error(std::string(300, 'e'));
        } catch (const std::exception &error) {
            CHECK(std::string(error.what()).size() == 300);
        }
        if (depth > 0) return;
    }
}

struct alignas(512) over_aligned {
    char bytes[700];
};

void over_aligned_objects(std::size_t count, std::size_t) {
    std::vector<over_aligned> vector(count);
    CHECK(reinterpret_cast<std::uintptr_t>(vector.data()) % 512 == 0);
    std::unique_ptr<over_aligned> one(new over_aligned);
    std::shared_ptr<over_aligned> shared = std::make_shared<over_aligned>();
    CHECK(reinterpret_cast<std::uintptr_t>(one.get()) % 512 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(shared.get()) % 512 == 0);
}

void library(std::size_t rounds, std::size_t) {
    for (std::size_t i = 0; i < rounds; i++) {
        std::pmr::unsynchronized_pool_resource pool;
        std::pmr::vector<std::pmr::string> words(&pool);
        for (int j = 0; j < 1000; j++) words.emplace_back("a word that is long enough to be allocated");
        std::ostringstream stream;
        for (int j = 0; j < 1000; j++) stream << j << ' ';
        CHECK(std::regex_search(stream.str(), std::regex("99[0-9] ")));
    }
}

} // namespace

extern "C" void add_operators(void) {
    const std::size_t sizes[] = {0, 1, 16, 100, 2048, 2049, 14336, 14337, 100000, 4 * MB, 5 * MB};
    for (std::size_t size : sizes) add("operators new and delete, %zu bytes", all_forms, size, 0);
    for (std::size_t size : {SIZE_MAX, SIZE_MAX - 16, SIZE_MAX - 4096, SIZE_MAX / 2 + 1, SIZE_MAX / 4})
        add("operator new of %zx bytes", impossible_new, size, 0);
    add("array of %zx", array_too_long, SIZE_MAX / 2, 0);
    add("array of %zx", array_too_long, SIZE_MAX / 16 + 1, 0);
    add("new-handler finds memory", handler_finds_memory, 0, 0);
    add("new-handler finds memory, nothrow", handler_finds_memory, 1, 0);
    add("new-handler throws bad_alloc", handler_throws, 0, 0);
    add("new-handler throws another exception", handler_throws, 1, 0);
    add("new-handler ends the program", handler_exits, 0, 0);
    for (std::size_t size : {std::size_t{100}, std::size_t{3000}, std::size_t{60000}, 5 * MB})
        add("bad_alloc when memory ends, %zu bytes", fill_until_memory_ends, size, 0);
    for (std::size_t i = 0; i < 4; i++) add("container %zu when memory ends", containers_until_memory_ends, i, 0);
    add("thread-local objects of %zu threads", thread_local_objects, 20, 0);
    add("%zu futures", futures, 50, 0);
    add("exceptions", exceptions, 5, 0);
    add("over-aligned objects, %zu", over_aligned_objects, 100, 0);
    add("the library, %zu times", library, 5, 0);
}
