/* modules.c - finds loaded files by glibc's _dl_find_object, which takes no lock; elsewhere by dl_iterate_phdr, which
 * waits while another thread changes the loader's list. The modules of a return address are loaded while it is on a
 * stack, so that none of this is unmapped meanwhile. */
#include "modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

enum { MOST_MODULES = 4096 };

static struct {
    uintptr_t start, end;
    uint64_t name;
} known[MOST_MODULES];
static uint32_t known_count;
static atomic_flag looking = ATOMIC_FLAG_INIT;

static void look_for_build_id(struct found_module *found, const char *notes, size_t size) {
    while (size > sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)notes;
        size_t name = (note->n_namesz + 3u) & ~(size_t)3, length = (note->n_descsz + 3u) & ~(size_t)3;
        if (sizeof *note + name + length > size) return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(note + 1, "GNU", 4) == 0 &&
            note->n_descsz <= BUILD_ID_SIZE) {
            found->build_id = (const uint8_t *)(note + 1) + name;
            found->build_id_size = note->n_descsz;
            return;
        }
        notes += sizeof *note + name + length;
        size -= sizeof *note + name + length;
    }
}

static bool look_at_headers(struct found_module *found, uintptr_t address, const ElfW(Phdr) * headers, unsigned count,
                            uintptr_t bias) {
    for (unsigned i = 0; i < count; i++) {
        const ElfW(Phdr) *header = &headers[i];
        uintptr_t from = bias + header->p_vaddr;
        if (header->p_type == PT_NOTE && found->build_id_size == 0)
            look_for_build_id(found, (const char *)from, header->p_memsz);
        if (header->p_type != PT_LOAD || address < from || address >= from + header->p_memsz) continue;
        found->start = from & ~(uintptr_t)4095;
        found->end = (from + header->p_memsz + 4095) & ~(uintptr_t)4095;
        found->bias = bias;
        found->offset = header->p_offset & ~UINT64_C(4095);
    }
    return found->end != 0;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
static bool find(uintptr_t address, struct found_module *found) {
    struct dl_find_object object;
    if (_dl_find_object((void *)address, &object) != 0) return false;
    found->name = object.dlfo_link_map->l_name != NULL ? object.dlfo_link_map->l_name : "";
    if (found->name[0] == 0) /* a program's part with gaps around it may begin with instructions: Debian's node */
        return look_at_headers(found, address, (const ElfW(Phdr) *)getauxval(AT_PHDR), (unsigned)getauxval(AT_PHNUM),
                               object.dlfo_link_map->l_addr);
    const ElfW(Ehdr) *file = object.dlfo_map_start;
    if (memcmp(file->e_ident, ELFMAG, SELFMAG) != 0) return false;
    return look_at_headers(found, address, (const ElfW(Phdr) *)((const char *)file + file->e_phoff), file->e_phnum,
                           object.dlfo_link_map->l_addr);
}
#else
struct search {
    uintptr_t address;
    struct found_module *found;
};

static int look_at_file(struct dl_phdr_info *info, size_t size, void *argument) {
    struct search *search = argument;
    (void)size;
    if (!look_at_headers(search->found, search->address, info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr)) {
        search->found->build_id_size = 0;
        return 0;
    }
    search->found->name = info->dlpi_name != NULL ? info->dlpi_name : "";
    return 1;
}

static bool find(uintptr_t address, struct found_module *found) {
    return dl_iterate_phdr(look_at_file, &(struct search){address, found}) != 0;
}
#endif

static uint64_t hash_of_name(const struct found_module *found) {
    uint64_t hash = found->offset;
    for (const char *at = found->name; *at != 0; at++) hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    for (uint32_t i = 0; i < found->build_id_size; i++) hash = (hash ^ found->build_id[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool is_new(const struct found_module *found, uint64_t name) {
    for (uint32_t i = 0; i < known_count; i++)
        if (known[i].start == found->start && known[i].end == found->end && known[i].name == name) return false;
    return true;
}

/* What is loaded there now replaces what was. */
static bool add(const struct found_module *found, uint64_t name) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < known_count; i++)
        if (known[i].start >= found->end || known[i].end <= found->start) known[kept++] = known[i];
    known_count = kept;
    if (kept == MOST_MODULES || !file_put_module(found)) return false;
    known[kept].start = found->start;
    known[kept].end = found->end;
    known[kept].name = name;
    known_count = kept + 1;
    return true;
}

/* The thread that finds another one here drops its sample. */
enum modules_result modules_know(void **frames, int count) {
    if (atomic_flag_test_and_set(&looking)) return MODULES_BUSY;
    bool good = true;
    struct found_module found = {0};
    for (int i = 0; i < count && good; i++) {
        uintptr_t address = (uintptr_t)frames[i] - 1;
        if (address >= found.start && address < found.end) continue;
        found = (struct found_module){0};
        if (!find(address, &found)) continue;
        uint64_t name = hash_of_name(&found);
        if (is_new(&found, name)) good = add(&found, name);
    }
    atomic_flag_clear(&looking);
    return good ? MODULES_KNOWN : MODULES_FULL;
}

void modules_begin(void) {
    atomic_flag_clear(&looking);
}
