#!/usr/bin/env python3
"""make_synthetic.py - prints the small trace that is committed as synthetic.txt.

The format is that of Android's memory_replay: `<tid>: malloc <pointer> <size>`, `calloc <pointer> <count> <size>`,
`realloc <new> <old> <size>`, `memalign <pointer> <alignment> <size>`, `free <pointer>`, `thread_done <tid>`. It has
what the real trace lacks: memalign, huge objects, frees by other threads, and threads that end with live objects.
"""

import random

random.seed(20)
THREADS = range(101, 109)
live = {}
next_pointer = 0xB6000000


def size():
    return random.randint(1, 1 << random.choice([4, 6, 8, 8, 10, 11, 12, 14, 15, 18, 22, 23]))


def fresh():
    global next_pointer
    next_pointer += 0x100
    return hex(next_pointer)


def allocate(thread):
    pointer, bytes = fresh(), size()
    kind = random.randrange(10)
    if kind < 7:
        print(f"{thread}: malloc {pointer} {bytes}")
    elif kind == 7:
        count = random.randint(1, 9)
        print(f"{thread}: calloc {pointer} {count} {bytes // count + 1}")
    elif kind == 8:
        print(f"{thread}: memalign {pointer} {8 << random.randrange(13)} {bytes}")
    else:
        print(f"{thread}: realloc {pointer} 0x0 {bytes}")
    live[pointer] = True


def main():
    threads = list(THREADS)
    for step in range(4000):
        thread = random.choice(threads)
        if len(live) < 100 or (len(live) < 300 and random.random() < 0.5):
            allocate(thread)
        elif random.random() < 0.2:
            old, new = random.choice(list(live)), fresh()
            del live[old]
            live[new] = True
            print(f"{thread}: realloc {new} {old} {size()}")
        else:
            old = random.choice(list(live))
            del live[old]
            print(f"{thread}: free {old}")
        if step % 500 == 499:
            print(f"{thread}: thread_done 0x0")
            threads.remove(thread)
            threads.append(thread + 100)
    # Half of the rest is never freed, as in real traces.
    for pointer in list(live)[::2]:
        print(f"{threads[0]}: free {pointer}")


main()
