#!/usr/bin/env bash
# cpython.sh - Python's own tests, with every object allocated by malloc: what fails must fail on the system's too.
source "$(dirname "$0")/common.sh"
need python3

# The first Python here that has its tests with it.
for name in /usr/bin/python3 python3; do
    python=$("$name" -c 'import sys, test.test_dict; print(sys.executable)' 2>/dev/null) && break
done
[ -n "${python-}" ] || { echo "skipped: no Python here has its tests (libpython3-testsuite)"; exit 77; }

# Its import tests need a Python that has imported nothing yet, which a site's .pth files can spoil.
tests="test_dict test_list test_set test_json test_gc test_bytes test_pickle test_sort test_array test_weakref
    test_ctypes test_zlib test_queue test_deque test_memoryview test_sqlite3 test_thread
    test_threading_local test_threading
    test_subprocess test_fork1"
export PYTHONMALLOC=malloc
run() {
    local name=$1
    shift
    # shellcheck disable=SC2086
    "$@" "$python" -m test -j2 --timeout 150 -i test_import_from_another_thread $tests >"$name.log" 2>&1
}
if ! run jw jw; then
    failed=$(sed -n '/tests\? failed:/,/^$/p' jw.log | grep -o 'test_[a-z_0-9]*' | sort -u)
    [ -n "$failed" ] || exit 1
    tests=$failed
    if run system system; then exit 1; fi
    sed -n '/tests\? failed:/,/^$/p' system.log | grep -o 'test_[a-z_0-9]*' | sort -u >system.txt
    echo "$failed" >jw.txt
    same system.txt jw.txt
fi
grep -E "Total tests|All .* tests OK" jw.log
