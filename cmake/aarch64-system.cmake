# Cross build for AArch64 whose tests run on a kernel of that processor, in a system emulator (tools/jw/kernel.py): they
# see real pages, so nothing is left out for qemu-user, and the shared library is preloaded.
include(${CMAKE_CURRENT_LIST_DIR}/aarch64.cmake)
unset(CMAKE_CROSSCOMPILING_EMULATOR)
set(JW_BOOTED TRUE)
