"""check_called.py - which functions of the C library the allocator's object files use.

A round may run in a thread that has no thread-local storage, and must not bind a function late. So the tiers and the
platform use only plain functions of string.h, which read nothing but their arguments. FOR_FILE has what single files
use besides, and when: never in a round. The API, the statistics and the platform's two files that deal with the C
library itself run in the program's threads only.
"""

from collections.abc import Iterator

Symbols = list[tuple[str, str]]

PLAIN = set("memcmp memcpy memmove memset strchr strcmp strcspn strlen strncmp strspn".split())
# The linker's and the compiler's own.
MADE = {"_GLOBAL_OFFSET_TABLE_", "__popcountdi2", "__start_jw_published", "__stop_jw_published"}
PROGRAMS = ("api/", "statistics/", "platform/linux_libc", "platform/linux_tool")
ERRNO = {"__errno_location": "a call of the program fails"}
TOLD = {name: "in a program's call of malloc or free" for name in ("jw_allocated", "jw_freed")}
FOR_FILE = {
    "config/options": {"jw_malloc_conf": "at the start; a variable"},
    "core/free_suspect": ERRNO,
    "core/host_controls": TOLD,
    "core/limit": ERRNO,
    "core/realloc": ERRNO,
    "core/route": ERRNO,
    "core/tracked": TOLD,
    "hardened/entry": TOLD,
    "hardened/entry_realloc": ERRNO | TOLD,
    "hardened/entry_slow": ERRNO,
    "platform/linux": {
        "clock_gettime": "the vDSO's code",
        "environ": "a variable",
        "getauxval": "reads what the loader has kept",
        "pthread_mutex_lock": "fork and abort",
        "pthread_mutex_unlock": "fork and abort",
    },
    "platform/linux_memory": {"__tsan_init": "an address"},
    "platform/linux_process": {
        "getauxval": "at the start",
        "pthread_key_create": "at the start",
        "pthread_key_delete": "at the start",
        "pthread_setspecific": "a thread's first allocation",
        "strstr": "at the start",
    },
    "platform/linux_start": {"pthread_atfork": "at the start"},
    "platform/linux_tags": {"getauxval": "at the start"},
    "platform/linux_thread": {"gnu_get_libc_version": "at the start", "strtol": "at the start"},
    "platform/lse": {"getauxval": "at the start"},
}


def complaints(table: dict[str, Symbols]) -> Iterator[str]:
    """Of each file's symbols, by nm's kind and name."""
    own = {symbol for found in table.values() for kind, symbol in found if kind not in "Uwv"}
    for name, found in table.items():
        if name.startswith(PROGRAMS):
            continue
        allowed = own | PLAIN | MADE | FOR_FILE.get(name, {}).keys()
        for symbol in sorted({symbol for kind, symbol in found if kind in "Uwv"} - allowed):
            yield f"src/{name}.c: uses {symbol}, which no round may call (tools/check_called.py has exceptions)"
