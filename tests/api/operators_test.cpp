// operators_test.cpp - every form of operator new and delete, its alignment, and what it does when memory ends.
//
// The operators are called as functions: new-expressions may be optimised away.
#include <pthread.h>
#include <sys/resource.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "check.h"
#include "entry_points.h"

namespace {

using std::align_val_t;
using std::nothrow;

const std::size_t impossible = IMPOSSIBLE_SIZE;

void *volatile sink; // an unused allocation might be left out

void check_object(void *object, std::size_t size, std::size_t alignment) {
    CHECK(object != nullptr);
    CHECK((reinterpret_cast<std::uintptr_t>(object) & (alignment - 1)) == 0);
    CHECK(malloc_usable_size(object) >= size);
    pattern_fill(object, size, size);
    CHECK(pattern_holds(object, size, size));
}

// Each allocating form with each of the deallocating forms that fit it.
void plain_forms(std::size_t size) {
    const std::size_t natural = size < 16 ? 8 : 16;
    for (int form = 0; form < 3; form++) {
        void *one = form == 2 ? operator new(size, nothrow) : operator new(size);
        void *many = form == 2 ? operator new[](size, nothrow) : operator new[](size);
        check_object(one, size, natural);
        check_object(many, size, natural);
        if (form == 0) {
            operator delete(one);
            operator delete[](many);
        } else if (form == 1) {
            operator delete(one, size);
            operator delete[](many, size);
        } else {
            operator delete(one, nothrow);
            operator delete[](many, nothrow);
        }
    }
}

void aligned_forms(std::size_t size, align_val_t alignment) {
    for (int form = 0; form < 3; form++) {
        void *one = form == 2 ? operator new(size, alignment, nothrow) : operator new(size, alignment);
        void *many = form == 2 ? operator new[](size, alignment, nothrow) : operator new[](size, alignment);
        check_object(one, size, static_cast<std::size_t>(alignment));
        check_object(many, size, static_cast<std::size_t>(alignment));
        if (form == 0) {
            operator delete(one, alignment);
            operator delete[](many, alignment);
        } else if (form == 1) {
            operator delete(one, size, alignment);
            operator delete[](many, size, alignment);
        } else {
            operator delete(one, alignment, nothrow);
            operator delete[](many, alignment, nothrow);
        }
    }
}

void all_forms() {
    for (std::size_t size = 0; size <= 300; size++) plain_forms(size);
    for (std::size_t size = 300; size <= (20u << 20); size = size * 3 + 1) plain_forms(size);
    for (std::size_t alignment = 8; alignment <= (8u << 20); alignment *= 2)
        for (std::size_t size = 0; size <= (1u << 20); size = size * 5 + 1)
            aligned_forms(size, static_cast<align_val_t>(alignment));
    operator delete(nullptr);
    operator delete[](nullptr);
    operator delete(nullptr, std::size_t{8});
    operator delete(nullptr, align_val_t{64});
}

template <class Call> bool throws_bad_alloc(Call call) {
    try {
        call();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

void impossible_sizes() {
    CHECK(throws_bad_alloc([] { sink = operator new(impossible); }));
    CHECK(throws_bad_alloc([] { sink = operator new[](impossible); }));
    CHECK(throws_bad_alloc([] { sink = operator new(SIZE_MAX); }));
    CHECK(throws_bad_alloc([] { sink = operator new(impossible, align_val_t{64}); }));
    CHECK(throws_bad_alloc([] { sink = operator new[](impossible, align_val_t{1 << 20}); }));
    CHECK(operator new(impossible, nothrow) == nullptr);
    CHECK(operator new[](impossible, nothrow) == nullptr);
    CHECK(operator new(impossible, align_val_t{64}, nothrow) == nullptr);
    CHECK(operator new[](impossible, align_val_t{4096}, nothrow) == nullptr);
}

// The handler is asked again and again until it gives up by removing itself or by throwing.
int handler_calls;

void handler_that_gives_up() {
    if (++handler_calls == 3) std::set_new_handler(nullptr);
}

struct handler_error : std::bad_alloc {};

void handler_that_throws() {
    handler_calls++;
    throw handler_error();
}

void new_handler_is_called() {
    handler_calls = 0;
    std::set_new_handler(handler_that_gives_up);
    CHECK(throws_bad_alloc([] { sink = operator new(impossible); }));
    CHECK(handler_calls == 3);
    handler_calls = 0;
    std::set_new_handler(handler_that_gives_up);
    CHECK(operator new(impossible, nothrow) == nullptr);
    CHECK(handler_calls == 3);
    handler_calls = 0;
    std::set_new_handler(handler_that_gives_up);
    CHECK(throws_bad_alloc([] { sink = operator new[](impossible, align_val_t{128}); }));
    CHECK(handler_calls == 3);

    std::set_new_handler(handler_that_throws);
    bool caught = false;
    try {
        sink = operator new(impossible);
    } catch (const handler_error &) {
        caught = true;
    }
    CHECK(caught);
    std::set_new_handler(nullptr);
}

// A thread may end in the handler: its unwinding is no exception, which a nothrow new would catch.
void handler_that_ends_the_thread() {
    pthread_exit(&handler_calls);
}

void *ask_for_too_much(void *) {
    sink = operator new(impossible, nothrow);
    return nullptr;
}

void a_thread_ends_in_its_handler() {
    pthread_t thread;
    void *result = nullptr;
    std::set_new_handler(handler_that_ends_the_thread);
    CHECK(pthread_create(&thread, nullptr, ask_for_too_much, nullptr) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == &handler_calls);
    std::set_new_handler(nullptr);
}

// A handler that frees a reserve lets the allocation succeed.
void *reserve;

void handler_that_frees() {
    handler_calls++;
    std::free(reserve);
    reserve = nullptr;
    if (handler_calls > 1) std::set_new_handler(nullptr);
}

[[maybe_unused]] void at_the_wall() {
    struct rlimit before, wall;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    wall = before;
    // The addresses of now, which the library may give up, are not enough for an object; those of the reserve are.
    const std::size_t now = proc_bytes("/proc/self/status", "VmSize"), size = now + (180u << 20);
    wall.rlim_cur = now + now + (200u << 20);
    reserve = std::malloc(now + (100u << 20));
    CHECK(reserve != nullptr);
    CHECK(setrlimit(RLIMIT_AS, &wall) == 0);
    handler_calls = 0;
    std::set_new_handler(handler_that_frees);
    void *object = operator new(size);
    CHECK(handler_calls == 1);
    CHECK(throws_bad_alloc([size] { sink = operator new(size); }));
    CHECK(handler_calls == 2);
    operator delete(object);
    std::vector<std::unique_ptr<std::string>> strings;
    strings.reserve(1 << 22);
    CHECK(throws_bad_alloc([&strings] {
        while (strings.size() < strings.capacity()) strings.emplace_back(new std::string(5000, 'x'));
    }));
    for (const auto &string : strings) CHECK(string->size() == 5000 && (*string)[4999] == 'x');
    strings.clear();
    for (int i = 0; i < 1000; i++) strings.emplace_back(new std::string(5000, 'y'));
    strings.clear();
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
}

} // namespace

int main() {
    all_forms();
    impossible_sizes();
    new_handler_is_called();
    a_thread_ends_in_its_handler();
    // qemu-user has no RLIMIT_AS.
#ifndef JW_EMULATED
    at_the_wall();
#endif
    all_forms();
    return 0;
}
