// lifetime.cpp - allocation before main, in static and thread_local constructors and destructors, and in exit handlers.
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tiers.h"

namespace {

struct tiers before_everything;

__attribute__((constructor(101))) void construct_first() {
    tiers_allocate(&before_everything, 1);
}

__attribute__((destructor(101))) void destroy_last() {
    tiers_free(&before_everything, 1);
    tiers_work(2);
}

struct holder {
    std::map<int, std::string> strings;
    std::vector<std::unique_ptr<char[]>> blocks;
    holder() {
        for (int i = 0; i < 200; i++) {
            strings[i] = std::string(static_cast<std::size_t>(i) * 10, 'x');
            blocks.emplace_back(new char[static_cast<std::size_t>(i) * 100 + 1]);
        }
    }
    ~holder() {
        for (const auto &entry : strings) CHECK(entry.second.size() == static_cast<std::size_t>(entry.first) * 10);
        tiers_work(3);
    }
};

holder global;
thread_local holder per_thread;
thread_local std::string name;

void handler_at_exit() {
    tiers_work(4);
    static std::string made_late(5000, 'l');
    CHECK(made_late.size() == 5000);
}

void use_thread_locals(int i) {
    name = std::string(300, static_cast<char>('a' + i % 26));
    per_thread.strings[1000 + i] = std::string(static_cast<std::size_t>(1000 + i) * 10, 'y');
    CHECK(name.size() == 300);
}

} // namespace

int main() {
    tiers_check(&before_everything, 1);
    CHECK(std::atexit(handler_at_exit) == 0);
    CHECK(at_quick_exit(handler_at_exit) == 0);
    use_thread_locals(0);
    for (int round = 0; round < 50; round++) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++) threads.emplace_back(use_thread_locals, i);
        for (auto &thread : threads) thread.join();
    }
    std::thread([] { std::thread(use_thread_locals, 3).detach(); }).join();
    return 0;
}
