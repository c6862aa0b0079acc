# For musl, with Debian's musl-gcc: dynamic and static programs for this machine.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_CXX_COMPILER musl-gcc) # it has no C++ library: tests in C++ are left out
set(CMAKE_CROSSCOMPILING_EMULATOR env)
