#!/usr/bin/env bash
# run.sh - runs a program on jwmalloc: every malloc of it and of its children is ours.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)

usage() {
    cat <<'END'
usage: ./jw run [--stats] [--checked] [--no-install] [--] PROGRAM [ARGUMENT...]

Runs PROGRAM with jwmalloc as its malloc, by LD_PRELOAD, and returns its exit status. Builds the library if it is not
there; that may install packages (./jw setup --help).

  --stats       print the allocator's statistics to standard error when the program ends
  --checked     use the build that verifies the allocator's invariants; it is slower
  --no-install  install nothing for the build; say what is missing
The environment has the allocator's options: JWMALLOC_CONF=name:value,...; ./jw options lists them.
END
}

flavour=release directory=$root/build stats=
while [ $# -gt 0 ]; do
    case $1 in
        --stats) stats=stats:exit ;;
        --no-install) export JW_NO_INSTALL=1 ;;
        --checked) flavour=checked directory=$root/build/checked ;;
        -h | --help) usage && exit 0 ;;
        --) shift && break ;;
        -*) echo "jw run: unknown option '$1'" >&2 && usage >&2 && exit 2 ;;
        *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || { usage >&2 && exit 2; }

library=$directory/libjwmalloc.so
[ -e "$library" ] || "$root/jw" build "$flavour" >&2
[ -z "$stats" ] || export JWMALLOC_CONF="${JWMALLOC_CONF:+$JWMALLOC_CONF,}$stats"
LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD} exec "$@"
