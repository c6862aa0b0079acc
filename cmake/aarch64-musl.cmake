# For musl on AArch64, by `zig cc`, which brings musl and its headers; Debian's tools of the processor edit the objects.
# Tests run in qemu-user: wholly static programs and, by a loader of musl from Debian (tools/foreign.toml), those that
# are linked with the shared library.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER ${CMAKE_CURRENT_LIST_DIR}/zig-cc)
set(CMAKE_CXX_COMPILER ${CMAKE_CURRENT_LIST_DIR}/zig-cc) # tests in C++ are left out
set(CMAKE_OBJCOPY aarch64-linux-gnu-objcopy)
set(CMAKE_AR aarch64-linux-gnu-ar)
set(CMAKE_RANLIB aarch64-linux-gnu-ranlib)
set(CMAKE_NM aarch64-linux-gnu-nm)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -Wl,--undefined-version) # the list of names is for each C library
set(jw_loader_place ${CMAKE_CURRENT_LIST_DIR}/../build/musl-aarch64)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${jw_loader_place})
if(NOT EXISTS ${jw_loader_place}/lib/ld-musl-aarch64.so.1)
    set(JW_STATIC_PROGRAMS TRUE) # nothing loads others
endif()
