// replaced.h - a program that replaces some forms of operator new and delete. Of the other forms each must call the
// replaced one that the standard names, or none, if it is not replaced.
//
//   REPLACES_OBJECTS   new(size) and delete(object)
//   REPLACES_ARRAYS    new[](size) and delete[](object)
//   REPLACES_ALIGNED   the same with an alignment
//   REPLACES_WITHOUT   0: of the first two only those with an alignment
//
//   FRONT              bytes of the program before each object. With some, a form that does not call the program's
//                      would free an address inside an object. With none, only the counts tell
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <new>

#include "check.h"
#include "entry_points.h"

#ifndef REPLACES_WITHOUT
#define REPLACES_WITHOUT 1
#endif

namespace {

const std::size_t front = FRONT;
std::size_t made, freed, asked, given; // asked: the last alignment, 0 for a form without; given: as for delete
bool refuses;

void *make(std::size_t size, std::size_t alignment) {
    if (refuses) throw 7; // any exception is possible
    char *object = static_cast<char *>(
        front ? std::aligned_alloc(front, (size + 2 * front - 1) / (front + !front) * front) : std::malloc(size));
    CHECK(object != nullptr && alignment <= front);
    if (front) memcpy(object, "MINE", 4);
    made++;
    asked = alignment;
    return object + front;
}

void release(void *object, std::size_t alignment) {
    if (object == nullptr) return;
    char *begin = static_cast<char *>(object) - front;
    if (front) {
        CHECK(memcmp(begin, "MINE", 4) == 0);
        memcpy(begin, "GONE", 4);
    }
    freed++;
    given = alignment;
    std::free(begin);
}

// With an alignment (0: without) the forms reach the program's, or not.
template <typename Made, typename Free>
void pair(bool reached, std::size_t alignment, std::size_t size, Made create, Free destroy) {
    for (std::size_t i = 0; i < 20; i++) {
        std::size_t before = made, gone = freed;
        void *object = create();
        CHECK(object != nullptr && made == before + reached && freed == gone);
        memset(object, 1, size);
        destroy(object);
        CHECK(made == before + reached && freed == gone + reached);
        CHECK(!reached || (asked == alignment && given == alignment));
    }
}

bool refused(void *(*create)()) {
    try {
        return create() == nullptr;
    } catch (int) {
        return true;
    }
}

} // namespace

#if REPLACES_OBJECTS
#if REPLACES_WITHOUT
void *operator new(std::size_t size) {
    return make(size, 0);
}
void operator delete(void *object) noexcept {
    release(object, 0);
}
#endif
#if REPLACES_ALIGNED
void *operator new(std::size_t size, std::align_val_t alignment) {
    return make(size, static_cast<std::size_t>(alignment));
}
void operator delete(void *object, std::align_val_t alignment) noexcept {
    release(object, static_cast<std::size_t>(alignment));
}
#endif
#endif
#if REPLACES_ARRAYS
void *operator new[](std::size_t size) {
    return make(size, 0);
}
void operator delete[](void *object) noexcept {
    release(object, 0);
}
#if REPLACES_ALIGNED
void *operator new[](std::size_t size, std::align_val_t alignment) {
    return make(size, static_cast<std::size_t>(alignment));
}
void operator delete[](void *object, std::align_val_t alignment) noexcept {
    release(object, static_cast<std::size_t>(alignment));
}
#endif
#endif

int main() {
    using std::nothrow;
    const std::align_val_t line{64};
    const bool objects = REPLACES_OBJECTS && REPLACES_WITHOUT, arrays = objects || REPLACES_ARRAYS;
    const bool aligned = REPLACES_ALIGNED && REPLACES_OBJECTS, aligned_arrays = aligned || (REPLACES_ALIGNED && arrays);
    for (std::size_t size : {1, 40, 1000, 5000, 100000, 5000000}) {
        pair(
            objects, 0, size, [=] { return operator new(size); }, [=](void *o) { operator delete(o); });
        pair(
            objects, 0, size, [=] { return operator new(size); }, [=](void *o) { operator delete(o, size); });
        pair(
            objects, 0, size, [=] { return operator new(size, nothrow); },
            [=](void *o) { operator delete(o, nothrow); });
        pair(
            arrays, 0, size, [=] { return operator new[](size); }, [=](void *o) { operator delete[](o); });
        pair(
            arrays, 0, size, [=] { return operator new[](size); }, [=](void *o) { operator delete[](o, size); });
        pair(
            arrays, 0, size, [=] { return operator new[](size, nothrow); },
            [=](void *o) { operator delete[](o, nothrow); });
        pair(
            aligned, 64, size, [=] { return operator new(size, line); },
            [=](void *o) { operator delete(o, size, line); });
        pair(
            aligned, 64, size, [=] { return operator new(size, line, nothrow); },
            [=](void *o) { operator delete(o, line, nothrow); });
        pair(
            aligned_arrays, 64, size, [=] { return operator new[](size, line); },
            [=](void *o) { operator delete[](o, line); });
        pair(
            aligned_arrays, 64, size, [=] { return operator new[](size, line); },
            [=](void *o) { operator delete[](o, size, line); });
        pair(
            aligned_arrays, 64, size, [=] { return operator new[](size, line, nothrow); },
            [=](void *o) { operator delete[](o, line, nothrow); });
    }
    refuses = true;
#ifndef __arm__ // there the exception passes: platform/catch.h
    CHECK((operator new(10, nothrow) == nullptr) == objects);
    CHECK((operator new[](10, nothrow) == nullptr) == arrays);
    CHECK((operator new(10, line, nothrow) == nullptr) == aligned);
    CHECK((operator new[](10, line, nothrow) == nullptr) == aligned_arrays);
    CHECK(std::current_exception() == nullptr); // what was caught is over
#endif
    CHECK(refused([] { return operator new(10); }) == objects);
    CHECK(refused([] { return operator new[](10); }) == arrays);
    CHECK(refused([] { return operator new(10, std::align_val_t{64}); }) == aligned);
    CHECK(refused([] { return operator new[](10, std::align_val_t{64}); }) == aligned_arrays);
    refuses = false;
    return 0;
}
