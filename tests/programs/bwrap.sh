#!/usr/bin/env bash
# bwrap.sh - bubblewrap, which splits by clone itself and unshares, with a program in its sandbox; both preloaded.
source "$(dirname "$0")/common.sh"
need bwrap
need_python

run() {
    "$@" bwrap --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp --unshare-user --unshare-pid --unshare-net \
        --die-with-parent "$python" -c '
import hashlib, threading
def work(number, sums=[b""] * 4):
    parts = [bytes([number]) * (1000 * i % 90001 + 1) for i in range(600)]
    sums[number] = hashlib.sha256(b"".join(parts[::3])).digest()
    return sums
threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for t in threads: t.start()
for t in threads: t.join()
print(hashlib.sha256(b"".join(work(3))).hexdigest())'
}

run system >system.txt 2>system.log || { echo "skipped: bubblewrap does not work here"; exit 77; }
run jw >jw.txt 2>jw.log
same system.txt jw.txt
cat jw.txt
