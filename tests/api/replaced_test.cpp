// replaced_test.cpp - a program that replaces four forms of operator new and delete; all others must call these four.
//
// Its objects begin behind a word of its own: a form that does not call them would free an address inside an object.
#include <cstdlib>
#include <initializer_list>
#include <new>

#include "check.h"
#include "entry_points.h"

namespace {

const std::size_t front = 64;
std::size_t made, freed;
bool refuses;

void *make(std::size_t size, std::size_t alignment) {
    if (refuses) throw 7; // any exception is possible
    char *object = static_cast<char *>(std::aligned_alloc(front, (size + 2 * front - 1) / front * front));
    CHECK(object != nullptr && alignment <= front);
    memcpy(object, "MINE", 4);
    made++;
    return object + front;
}

void release(void *object) {
    if (object == nullptr) return;
    char *begin = static_cast<char *>(object) - front;
    CHECK(memcmp(begin, "MINE", 4) == 0);
    memcpy(begin, "GONE", 4);
    freed++;
    std::free(begin);
}

template <typename Made, typename Free> void pair(Made create, Free destroy) {
    std::size_t before = made;
    for (int i = 0; i < 20; i++) {
        void *object = create();
        CHECK(made == before + i + 1 && freed == before + i);
        destroy(object);
        CHECK(freed == before + i + 1);
    }
}

} // namespace

void *operator new(std::size_t size) {
    return make(size, 1);
}
void operator delete(void *object) noexcept {
    release(object);
}
void *operator new(std::size_t size, std::align_val_t alignment) {
    return make(size, static_cast<std::size_t>(alignment));
}
void operator delete(void *object, std::align_val_t) noexcept {
    release(object);
}

int main() {
    using std::nothrow;
    const std::align_val_t line{64};
    for (std::size_t size : {1, 40, 1000, 5000, 100000, 5000000}) {
        pair([&] { return operator new(size); }, [&](void *o) { operator delete(o, size); });
        pair([&] { return operator new(size, nothrow); }, [&](void *o) { operator delete(o, nothrow); });
        pair([&] { return operator new[](size); }, [&](void *o) { operator delete[](o); });
        pair([&] { return operator new[](size); }, [&](void *o) { operator delete[](o, size); });
        pair([&] { return operator new[](size, nothrow); }, [&](void *o) { operator delete[](o, nothrow); });
        pair([&] { return operator new(size, line); }, [&](void *o) { operator delete(o, size, line); });
        pair([&] { return operator new(size, line, nothrow); }, [&](void *o) { operator delete(o, line, nothrow); });
        pair([&] { return operator new[](size, line); }, [&](void *o) { operator delete[](o, line); });
        pair([&] { return operator new[](size, line); }, [&](void *o) { operator delete[](o, size, line); });
        pair([&] { return operator new[](size, line, nothrow); },
             [&](void *o) { operator delete[](o, line, nothrow); });
    }
    refuses = true;
#ifndef __arm__ // there the exception passes: platform/catch.h
    CHECK(operator new(10, nothrow) == nullptr &&operator new[](10, nothrow) == nullptr);
    CHECK(operator new(10, line, nothrow) == nullptr &&operator new[](10, line, nothrow) == nullptr);
#endif
    bool thrown = false;
    try {
        operator delete[](operator new[](10));
    } catch (int) {
        thrown = true;
    }
    CHECK(thrown);
}
