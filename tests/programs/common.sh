# shellcheck shell=bash disable=SC2034
# common.sh - how a real program is run with libjwmalloc.so preloaded, beside the same program on the system's malloc.
#
# Each script compares the two outputs. JW_LIBRARY names the library. A script takes the programs as they are: what a
# version does not have is left out, and said so.
set -euo pipefail

: "${JW_LIBRARY:?names the libjwmalloc.so under test}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/jw-programs.XXXXXX")
trap 'leave $?' EXIT

# The first Python on PATH fails: a script must take the one that need_python names.
mkdir "$work/first"
printf '#!/bin/sh\nexit 1\n' >"$work/first/python3"
chmod +x "$work/first/python3"
PATH=$work/first:$PATH

# Nothing of ours stays behind, and a failure shows what was said.
leave() {
    [ -z "${server-}" ] || kill "$server" 2>/dev/null || true
    [ "$1" -eq 0 ] || [ "$1" -eq 77 ] || tail -n 40 "$work"/*.log 2>/dev/null || true
    rm -rf "$work"
}

skip() {
    echo "skipped: $*"
    exit 77
}

need() {
    for command in "$@"; do
        command -v "$command" >/dev/null || skip "$command is not installed"
    done
}

# The system's Python, or the one that JW_PYTHON names; not whichever comes first on PATH.
need_python() {
    python=${JW_PYTHON:-/usr/bin/python3}
    [ -x "$python" ] || skip "there is no $python; JW_PYTHON may name another"
}

# at_least VERSION LEAST: compares numbers with dots.
at_least() {
    [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

jw() {
    env LD_PRELOAD="$JW_LIBRARY" "$@"
}

system() {
    env -u LD_PRELOAD "$@"
}

same() {
    cmp "$1" "$2" || { echo "the output differs from that on the system's malloc: $1 $2"; exit 1; }
}

# A library that the loader does not take would go unnoticed. No pipe: grep -q could leave before cat has written all.
maps=$(jw cat /proc/self/maps)
[[ $maps == *"$(basename "$(readlink -f "$JW_LIBRARY")")"* ]] || { echo "$JW_LIBRARY is not loaded"; exit 1; }
cd "$work"
