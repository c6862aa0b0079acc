#!/usr/bin/env bash
# run.sh - runs a program on jwmalloc: every malloc of it and of its children is ours.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)

usage() {
    cat <<'END'
usage: ./jw run [--stats] [--checked] [--] PROGRAM [ARGUMENT...]

Runs PROGRAM with jwmalloc in place of its malloc, by LD_PRELOAD. Its exit status is passed on.

  --stats    print the allocator's statistics when the program ends (to standard error)
  --checked  use the build that verifies the allocator's invariants; slower
Options for the allocator go in the environment: JWMALLOC_CONF=key:value,...; see ./jw options.
END
}

flavour=release directory=$root/build stats=
while [ $# -gt 0 ]; do
    case $1 in
        --stats) stats=stats:exit ;;
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
