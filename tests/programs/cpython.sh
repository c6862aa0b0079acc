#!/usr/bin/env bash
# cpython.sh - Python's own tests, with every object allocated by malloc: what fails must fail on the system's too.
source "$(dirname "$0")/common.sh"
need_python
"$python" -c 'import test.libregrtest, test.test_dict' 2>/dev/null ||
    skip "$python has no tests with it (libpython3-testsuite)"

# Its import tests need a Python that has imported nothing yet, which a site's .pth files can spoil.
wanted="test_dict test_list test_set test_json test_gc test_bytes test_pickle test_sort test_array test_weakref
    test_ctypes test_zlib test_queue test_deque test_memoryview test_sqlite3 test_thread
    test_threading_local test_threading
    test_subprocess test_fork1"
# shellcheck disable=SC2086
tests=$("$python" - $wanted <<'PYTHON'
import importlib.util
import sys
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(f"test.{name}")))
PYTHON
)
for name in $wanted; do
    [[ " $tests " == *" $name "* ]] || echo "left out: this Python has no $name"
done
export PYTHONMALLOC=malloc
run() {
    local name=$1
    shift
    # shellcheck disable=SC2086
    "$@" "$python" -m test -j2 --timeout 150 -i test_import_from_another_thread $tests >"$name.log" 2>&1
}
# The names below the line that counts them, which each version writes.
failed_in() {
    sed -n '/tests\? failed:/,/^$/p' "$1" | grep -o 'test_[a-z_0-9]*' | sort -u || true
}

echo "$("$python" --version): $(wc -w <<<"$tests") of its test files"
if run jw jw; then
    echo "all of them pass"
    exit 0
fi
failed_in jw.log >jw.txt
[ -s jw.txt ] || { echo "the tests ended without saying which failed"; exit 1; }
tests=$(xargs <jw.txt)
if run system system; then
    echo "on the system's malloc these pass: $tests"
    exit 1
fi
failed_in system.log >system.txt
same system.txt jw.txt
echo "all pass but those that fail on the system's malloc, too: $tests"
