"""lse_calls.py OBJDUMP LIBRARY - no function of an AArch64 library makes an atomic operation by a pair of exclusive
loads and stores, which processors with LSE need not do (src/base/atomics.h). Where there may be one, a reason stands.
"""

import re
import subprocess
import sys

ALLOWED = re.compile(
    r"jw_lse_\w+"  # where there is no LSE
    r"|(jw_|__libc_)?free(_object)?"  # the hit path, whose call would cost a stack frame
    r"|(ownership_swap_buffers|round_without_thread)"  # xor, once a round
    r"(\.\w+)*"
)

objdump, library = sys.argv[1:]
text = subprocess.run([objdump, "-d", library], stdout=subprocess.PIPE, text=True, check=True).stdout
function, found, calls = "", set(), 0
for line in text.splitlines():
    if label := re.match(r"[0-9a-f]+ <(.+)>:$", line):
        function = label[1]
    elif re.search(r"\tldaxr\t|\tldxr\t", line):
        found.add(function)
    calls += "<jw_lse_" in line and "\tbl\t" in line
bad = sorted(name for name in found if not ALLOWED.fullmatch(name))
print(
    "\n".join(f"{name} has a pair of exclusive load and store; does its file include base/compiler.h?" for name in bad)
)
print(f"{calls} calls")
sys.exit(1 if bad or calls < 100 else 0)
