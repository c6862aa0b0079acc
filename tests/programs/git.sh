#!/usr/bin/env bash
# git.sh - a generated repository is repacked with two threads, checked, and must hold the same objects as before.
source "$(dirname "$0")/common.sh"
need git
need_python

# Nobody's configuration, and no repository that a hook or a shell has named.
export HOME=$work XDG_CONFIG_HOME=$work GIT_CONFIG_NOSYSTEM=1
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_COUNT
"$python" - >import.txt <<'PYTHON'
import random
random.seed(3)
files = [[f"{random.getrandbits(64):x} line\n" for _ in range(random.randint(5, 400))] for _ in range(150)]
print("feature done")
for commit in range(400):
    print(f"commit refs/heads/main\ncommitter a <a@b> {1700000000 + commit} +0000\ndata 2\nc\n")
    for number in random.sample(range(len(files)), 6):
        files[number][random.randrange(len(files[number]))] = f"{random.getrandbits(64):x} changed\n"
        text = "".join(files[number])
        print(f"M 100644 inline d{number % 9}/f{number}\ndata {len(text)}\n{text}")
print("done")
PYTHON
git init -q --bare repository
git -C repository symbolic-ref HEAD refs/heads/main # -b is not known to each version
system git -C repository fast-import --quiet <import.txt
objects() { git -C repository cat-file --batch-all-objects --batch-check; }
objects >system.txt
jw git -C repository -c pack.threads=2 repack -q -a -d -f --depth=50 --window=60
jw git -C repository fsck --full --strict >fsck.log 2>&1
objects >jw.txt
same system.txt jw.txt
jw git -C repository log --stat -p >jw-log.txt
system git -C repository log --stat -p >system-log.txt
same system-log.txt jw-log.txt
wc -l jw.txt
