/* names.c - addresses for people: source lines by addr2line, globals by nm, blocks by number. */
#include "engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __aarch64__
#define TOOLS "PATH=$PATH:/usr/aarch64-linux-gnu/bin; "
#else
#define TOOLS ""
#endif

enum { BATCH = 200, TEXT = 160 };

static void cut_line(char *text) {
    text[strcspn(text, "\r\n")] = 0;
}

/* "file:line function", one per address; the call is the instruction before the return address. */
static void describe_batch(unsigned count, const uint32_t *pcs, char (*out)[TEXT]) {
    static char command[8192];
    size_t used = (size_t)snprintf(command, sizeof command, TOOLS "addr2line -s -f -e '%s'", settings.program);
    for (unsigned i = 0; i < count; i++)
        used += (size_t)snprintf(command + used, sizeof command - used, " %x", pcs[i] ? pcs[i] - 1 : 0);
    snprintf(command + used, sizeof command - used, " 2>/dev/null");
    FILE *pipe = popen(command, "r");
    for (unsigned i = 0; i < count; i++) {
        char function[TEXT / 2], place[TEXT / 2];
        bool got = pipe && fgets(function, sizeof function, pipe) && fgets(place, sizeof place, pipe);
        if (got) {
            cut_line(function);
            place[strcspn(place, "\r\n (")] = 0;
            snprintf(out[i], TEXT, "%s %s", place, function);
        } else {
            snprintf(out[i], TEXT, "%" PRIx32, pcs[i]);
        }
    }
    if (pipe) pclose(pipe);
}

void describe_places(unsigned count, const uint32_t *pcs, char (*out)[TEXT]) {
    for (unsigned i = 0; i < count; i += BATCH) describe_batch(count - i < BATCH ? count - i : BATCH, pcs + i, out + i);
}

struct symbol {
    uint64_t address, size;
    char name[64];
};

static struct symbol *symbols;
static unsigned symbol_count;

static void load_symbols(void) {
    enum { SYMBOLS = 8192 };
    char command[4300], line[512];
    symbols = calloc(SYMBOLS, sizeof *symbols);
    snprintf(command, sizeof command, TOOLS "nm -S --defined-only '%s' 2>/dev/null", settings.program);
    FILE *pipe = popen(command, "r");
    while (pipe && symbol_count < SYMBOLS && fgets(line, sizeof line, pipe)) {
        struct symbol *symbol = &symbols[symbol_count];
        char kind;
        if (strlen(line) < 36 || line[16] != ' ' || line[33] != ' ') continue; /* no size */
        if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %63s", &symbol->address, &symbol->size, &kind, symbol->name) ==
                4 &&
            symbol->address >= data_begin)
            symbol_count++;
    }
    if (pipe) pclose(pipe);
}

static void with_offset(char *out, size_t size, const char *name, uint64_t offset) {
    if (offset) snprintf(out, size, "%s%+" PRId64, name, (int64_t)offset);
    else snprintf(out, size, "%s", name);
}

void describe_address(uint64_t address, char *out, size_t size) {
    uint64_t offset;
    uint32_t pc;
    char place[32];
    const char *name = address >= ARENA_HEAPS && address < ARENA_END ? heap_describe(address, &offset, &pc) : NULL;
    if (name) {
        with_offset(out, size, name, offset);
    } else if (address >= ARENA_TLS && address < ARENA_HEAPS) {
        snprintf(place, sizeof place, "thread-local of T%u", (unsigned)((address - ARENA_TLS) / TLS_SIZE));
        with_offset(out, size, place, (address - ARENA_TLS) % TLS_SIZE);
    } else if (address >= ARENA_STACKS && address < ARENA_TLS) {
        snprintf(place, sizeof place, "stack of T%u", (unsigned)((address - ARENA_STACKS) / STACK_SIZE));
        with_offset(out, size, place, (address - ARENA_STACKS) % STACK_SIZE);
    } else {
        if (!symbols) load_symbols();
        for (unsigned i = 0; i < symbol_count; i++)
            if (address - symbols[i].address < symbols[i].size) {
                with_offset(out, size, symbols[i].name, address - symbols[i].address);
                return;
            }
        snprintf(out, size, "%" PRIx64, address);
    }
}
