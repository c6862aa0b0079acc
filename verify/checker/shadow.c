/* shadow.c - what is known about each byte of the client's memory: its last accesses, and whether it may be accessed.
 *
 * A cell stands for eight bytes. Its records say which thread last accessed which of the bytes how, and when on that
 * thread's clock; an access that the running thread's clock does not cover is concurrent. Execution order extends
 * happens-before and plain values live in real memory, so a plain read without a race sees the right value.
 *
 * Cells of a previous run are recognised by their generation, so nothing is cleared between runs.
 */
#include "engine.h"

#include <string.h>
#include <sys/mman.h>

enum { RECORDS = 1 << 20, STEPS = 20 << 20 };

struct record {
    uint32_t next, clock, pc;
    uint8_t bytes, thread, kind;
};

struct cell {
    uint32_t generation;
    uint32_t records;
    uint16_t locations; /* atomic ones that begin in these bytes */
    uint8_t unwritten, outside, freed, forbidden;
};

static struct cell *arena_cells, *data_cells;
static struct record *records;
static uint32_t record_count, generation;

void shadow_start(void) {
    arena_cells = memory_map(0, (ARENA_END - ARENA) / 8 * sizeof *arena_cells, false);
    data_cells = memory_map(0, ((data_end - data_begin) / 8 + 2) * sizeof *data_cells, false);
    records = memory_map(0, RECORDS * sizeof *records, false);
}

void shadow_reset(void) {
    record_count = 1;
    if (++generation) return;
    madvise(arena_cells, (ARENA_END - ARENA) / 8 * sizeof *arena_cells, MADV_DONTNEED);
    madvise(data_cells, ((data_end - data_begin) / 8 + 2) * sizeof *data_cells, MADV_DONTNEED);
    generation = 1;
}

static struct cell *renewed(struct cell *cell, uint64_t address) {
    if (cell->generation != generation) {
        *cell = (struct cell){.generation = generation};
        if (address >= ARENA_HEAPS && address < ARENA_END) cell->outside = 0xff;
    }
    return cell;
}

/* NULL: memory of no thread, of the program's image at best. */
static struct cell *cell_of(uint64_t address) {
    if (address - ARENA < ARENA_END - ARENA) return renewed(&arena_cells[(address - ARENA) / 8], address);
    if (address - data_begin >= data_end - data_begin) return NULL;
    return renewed(&data_cells[address / 8 - data_begin / 8], address);
}

uint16_t *shadow_locations(uint64_t address) {
    struct cell *cell = cell_of(address);
    if (!cell) fail("wild-access", address, 0, "atomic access");
    return &cell->locations;
}

static const char *kind_name(unsigned kind) {
    static const char *const names[] = {"plain read", "plain write", "atomic read", "atomic write"};
    return names[kind & (WRITE_ACCESS | ATOMIC_ACCESS)];
}

static _Noreturn void fail_bounds(const struct cell *cell, uint64_t address, uint8_t bytes, unsigned kind) {
    uint32_t other = cell->records ? records[cell->records].pc : 0;
    const char *name = kind_name(kind);
    if (cell->freed & bytes) fail("use-after-free", address, other, "%s", name);
    if (cell->forbidden & bytes) fail("unmapped", address, other, "%s of memory that is not mapped", name);
    uint32_t allocated_at = 0;
    uint64_t offset;
    heap_describe(address, &offset, &allocated_at);
    fail("out-of-bounds", address, allocated_at, "%s outside of every block", name);
}

static bool conflicts(const struct record *record, unsigned kind) {
    bool writes = (record->kind | kind) & WRITE_ACCESS, both_atomic = record->kind & kind & ATOMIC_ACCESS;
    return writes && !both_atomic && record->thread != run.current &&
           record->clock > self()->happened.at[record->thread];
}

static struct record *record_new(struct cell *cell) {
    if (record_count == RECORDS) stop_unable("more than %d accesses to remember", RECORDS);
    struct record *record = &records[record_count];
    record->next = cell->records;
    cell->records = record_count++;
    return record;
}

/* The same thread made the same access before, and no other thread made one: true of most accesses. */
static bool repeats_only(const struct cell *cell, uint8_t bytes, unsigned kind) {
    const struct record *only = &records[cell->records];
    return cell->records && !only->next && only->bytes == bytes && only->thread == run.current && only->kind == kind;
}

/* Checks against earlier accesses; drops those that this one stands for, and adds it. */
static void remember(struct cell *cell, uint64_t address, uint8_t bytes, unsigned kind) {
    if (repeats_only(cell, bytes, kind)) {
        records[cell->records].clock = self()->happened.at[run.current];
        records[cell->records].pc = (uint32_t)client_pc;
        return;
    }
    struct record *mine = NULL;
    for (uint32_t *link = &cell->records; *link;) {
        struct record *record = &records[*link];
        if (record->bytes & bytes) {
            if (conflicts(record, kind))
                fail("race", address, record->pc, "%s, against T%u's %s", kind_name(kind), record->thread,
                     kind_name(record->kind));
            bool covered = !(record->bytes & ~bytes);
            bool same = record->thread == run.current && record->kind == kind;
            if (covered && (kind == WRITE_ACCESS || same)) {
                mine = record;
                *link = record->next;
                continue;
            }
        }
        link = &record->next;
    }
    if (mine) {
        mine->next = cell->records;
        cell->records = (uint32_t)(mine - records);
    } else {
        mine = record_new(cell);
    }
    mine->bytes = bytes;
    mine->thread = (uint8_t)run.current;
    mine->kind = (uint8_t)kind;
    mine->clock = self()->happened.at[run.current];
    mine->pc = (uint32_t)client_pc;
}

static void make_dirty(uint64_t address) {
    if (address - data_begin < data_end - data_begin) data_dirty[(address - data_begin) >> DATA_PAGE_SHIFT] = 1;
}

static void access_cell(struct cell *cell, uint64_t address, uint8_t bytes, unsigned kind) {
    if ((cell->outside | cell->freed | cell->forbidden) & bytes) fail_bounds(cell, address, bytes, kind);
    remember(cell, address, bytes, kind & (WRITE_ACCESS | ATOMIC_ACCESS));
    if (kind & WRITE_ACCESS) {
        if (!(kind & COPY_ACCESS)) cell->unwritten &= (uint8_t)~bytes;
        if (!(kind & ATOMIC_ACCESS) && cell->locations)
            location_forget(cell->locations, address, (size_t)__builtin_popcount(bytes));
        make_dirty(address);
    } else if (kind == READ_ACCESS && cell->unwritten & bytes) {
        fail("uninitialised", address, 0, "plain read of bytes never written");
    }
}

static uint8_t bytes_from(uint64_t address, uint64_t end) {
    uint64_t stop = (address | 7) + 1;
    unsigned count = (unsigned)((end < stop ? end : stop) - address);
    return (uint8_t)(((1u << count) - 1) << (address & 7));
}

void shadow_access(uint64_t address, size_t size, unsigned kind) {
    if (!run.active) return;
    if (++run.steps > STEPS) fail("endless", 0, 0, "a loop that does not end");
    for (uint64_t end = address + size; address < end; address = (address | 7) + 1) {
        struct cell *cell = cell_of(address);
        if (cell) access_cell(cell, address, bytes_from(address, end), kind);
        else if (kind & WRITE_ACCESS || address < image_begin || address >= data_begin)
            fail("wild-access", address, 0, "%s at %llx, which is not the program's", kind_name(kind),
                 (unsigned long long)address);
    }
}

bool shadow_unwritten(uint64_t address, size_t size) {
    for (uint64_t end = address + size; address < end; address = (address | 7) + 1) {
        struct cell *cell = cell_of(address);
        if (cell && cell->unwritten & bytes_from(address, end)) return true;
    }
    return false;
}

/* Copying bytes never written is no fault yet (padding); the copies are as unwritten. */
void shadow_copy(uint64_t to, uint64_t from, size_t size) {
    for (size_t i = 0; i < size; i++) {
        size_t k = to <= from ? i : size - 1 - i;
        struct cell *source = cell_of(from + k), *target = cell_of(to + k);
        uint8_t source_bit = (uint8_t)(1u << ((from + k) & 7)), target_bit = (uint8_t)(1u << ((to + k) & 7));
        if (!target) continue;
        target->unwritten &= (uint8_t)~target_bit;
        if (source && source->unwritten & source_bit) target->unwritten |= target_bit;
    }
}

static void mark_cell(struct cell *cell, uint8_t bytes, enum mark mark) {
    switch (mark) {
    case MARK_ALLOCATED: cell->outside &= (uint8_t)~bytes; break;
    case MARK_FREED: cell->freed |= bytes; break;
    case MARK_FORBIDDEN: cell->forbidden |= bytes; break;
    case MARK_UNWRITTEN: cell->unwritten |= bytes; break;
    case MARK_FRESH:
        cell->forbidden &= (uint8_t)~bytes;
        cell->unwritten &= (uint8_t)~bytes;
        for (uint32_t *link = &cell->records; *link;) {
            struct record *record = &records[*link];
            record->bytes &= (uint8_t)~bytes;
            if (record->bytes) link = &record->next;
            else *link = record->next;
        }
    }
}

void shadow_mark(uint64_t address, size_t size, enum mark mark) {
    for (uint64_t end = address + size; address < end; address = (address | 7) + 1) {
        struct cell *cell = cell_of(address);
        if (!cell) fail("wild-access", address, 0, "a mark on memory that is not the program's");
        uint8_t bytes = bytes_from(address, end);
        mark_cell(cell, bytes, mark);
        make_dirty(address);
        if (mark == MARK_FRESH && cell->locations)
            location_forget(cell->locations, address, (size_t)__builtin_popcount(bytes));
    }
}
