# How jwmalloc's objects and libraries are made; tests make variants of their own with the same functions.

find_package(Threads REQUIRED)
include(CheckCSourceCompiles)

set(jw_compile_options
    -std=gnu11 -g -Wall -Wextra -Wundef
    -fvisibility=hidden -fPIC
    # Our own names must stay calls to, and bodies of, our own functions.
    -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free
    -fno-semantic-interposition
    # One instruction to the thread's heap; a dynamic model could call malloc to find it.
    -ftls-model=initial-exec
    # The reclamation thread has no thread-local storage, which is where a stack protector keeps its canary.
    -fno-stack-protector
    # backtrace() in a handler of SIGABRT, debuggers and profilers see through us to our caller. No page of the tables
    # is read before.
    -fasynchronous-unwind-tables)

# Spares calls into libc a jump. Elsewhere than on x86, whose linker mends them, our own calls would go by a table, too.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86")
    list(APPEND jw_compile_options -fno-plt)
endif()

# Our own calls (base/atomics.h) choose LSE at run time; the compiler's would be larger, and cost free() a stack frame.
# Builds for Armv8.1 and up should say so (-march=armv8.1-a): then each operation is one instruction.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    list(APPEND jw_compile_options -mno-outline-atomics)
endif()

# The shared library is much smaller than 1 MB. So one instruction gives an address in it, where the usual code has two.
# A program that links an archive may be larger.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(jw_near_options -mcmodel=tiny)
    # As on x86-64, a function makes no frame record: 2.4 KB less text, 1.2 KB less unwind tables. Nor does it use the
    # frame pointer for anything else. So a profiler that follows the records leaves out ours and finds the program's,
    # but for our direct caller (docs/platforms.md, Unwinders).
    list(APPEND jw_compile_options -fomit-frame-pointer -ffixed-x29)
    # Functions and loops begin at any instruction: at each 16th byte they are 0.6 KB longer. The hit paths begin lines
    # of the cache in any case (base/compiler.h). A function saves its registers in one place: each place of its own is
    # a row of the unwind tables. So they are 0.4 KB shorter. A loop's condition stands once, not also before the loop.
    set(jw_dense_options -fno-align-functions -fno-align-jumps -fno-align-loops -fno-shrink-wrap-separate
        -fno-tree-ch)
    # Of a function that is compiled for size, the parts that save registers stay together: fewer rows of the tables.
    set(jw_still_options -fno-schedule-insns2)
endif()

# The first word of an object is read in one piece: compilers would read it byte by byte, since the end of a list is at
# an odd address. Processors for Android must read such words; on others the kernel does, where a list has ended. GCC
# believes that of the processor which it tunes for.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "riscv64")
    list(APPEND jw_compile_options -mno-strict-align $<$<C_COMPILER_ID:GNU>:-mtune=thead-c906>)
endif()

include(CheckIncludeFile)

# Only macros: nothing of Valgrind is linked. Looked for again by each run of CMake until it is there.
find_path(jw_memcheck_place valgrind/memcheck.h)
mark_as_advanced(jw_memcheck_place)
if(jw_memcheck_place)
    check_include_file(valgrind/memcheck.h jw_reads_memcheck) # the compiler may look elsewhere, as musl-gcc does
endif()

# A compiler for another C library may lack the kernel's headers, as musl-gcc does. The system's are the same for each C
# library; the links keep the headers of the system's C library out.
check_include_file(linux/random.h jw_kernel_headers)
if(NOT jw_kernel_headers)
    find_path(jw_linux_place linux/random.h PATHS /usr/include)
    find_path(jw_asm_place asm/unistd.h PATHS /usr/include/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu /usr/include)
    mark_as_advanced(jw_linux_place jw_asm_place)
    if(NOT (jw_linux_place AND jw_asm_place))
        message(FATAL_ERROR "jwmalloc needs the Linux kernel's headers: ${CMAKE_C_COMPILER} has no linux/random.h")
    endif()
    set(jw_kernel_place ${CMAKE_BINARY_DIR}/kernel-headers)
    file(MAKE_DIRECTORY ${jw_kernel_place})
    file(CREATE_LINK ${jw_linux_place}/linux ${jw_kernel_place}/linux SYMBOLIC)
    file(CREATE_LINK ${jw_linux_place}/asm-generic ${jw_kernel_place}/asm-generic SYMBOLIC)
    file(CREATE_LINK ${jw_asm_place}/asm ${jw_kernel_place}/asm SYMBOLIC)
    list(APPEND jw_compile_options -isystem ${jw_kernel_place})
endif()

# A new-handler may throw through operator new.
set(jw_unwound_sources ${PROJECT_SOURCE_DIR}/src/api/new_delete.c)

# Whether gcc may compile the shared library as one whole: a function with one caller becomes a part of that caller, and
# needs neither a frame nor unwind tables. clang needs a linker of its own for it.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_REQUIRED_FLAGS -flto)
    check_c_source_compiles("int main(void) { return 0; }" jw_compiler_joins)
    unset(CMAKE_REQUIRED_FLAGS)
    # Fewer copies of a function with several callers. No expression moves to a second place or before a loop, and none
    # is looked for that another way into the block has computed: 0.8 KB less text, 0.2 KB less unwind tables, and the
    # slow paths execute as many instructions. On x86-64, no function has its rare blocks in another place: that place
    # has unwind tables of its own, 0.9 KB in all, and jumps to and fro, 0.4 KB of text.
    set(jw_fast_options --param=max-inline-insns-auto=5 -fno-tree-pre -fno-tree-loop-im -fno-move-loop-invariants
        -fno-tree-dominator-opts -fno-tree-tail-merge -fno-reorder-blocks-and-partition ${jw_dense_options})
    # The blocks of the backend, of the slow path of malloc and of realloc stand in the order of the source, none of
    # them twice (0.3 KB of text). Nor is there a second way out that saves no registers (0.3 KB).
    set(jw_far_options -freorder-blocks-algorithm=simple -fno-shrink-wrap)
    # No second way out of a function that saves no registers, and nothing that is kept in one for a whole loop: less
    # text, and smaller unwind tables. -fno-expensive-optimizations: 64 B less text, 24 B less tables (AArch64).
    set(jw_small_options -fno-inline-small-functions -fno-shrink-wrap -fno-move-loop-invariants -fno-tree-loop-im
        -fno-tree-vrp -fno-tree-tail-merge -fno-code-hoisting -fno-expensive-optimizations ${jw_still_options})
endif()

# What a program waits for: the paths of malloc and free up to the backend. All other files are compiled for size: a
# phone pays for every page of text.
set(jw_fast_sources
    api/malloc.c api/new_delete.c backend/backend.c backend/give_back.c backend/knit.c
    backend/nest.c backend/ownership.c backend/range_cache.c backend/thrift_rounds.c
    core/aligned.c core/allocate.c core/free.c core/new_contents.c core/realloc.c core/route.c core/route_free.c
    core/sized.c core/tagged.c core/zeroed.c frontend/heap_pool.c frontend/heap_pop.c frontend/heap_refill.c
    frontend/heap_reopened.c frontend/heap_slabs.c frontend/object_cache.c frontend/slab_cross.c frontend/slab_links.c
    frontend/thread_heap.c hardened/entry.c hardened/entry_realloc.c hardened/entry_slow.c hardened/entry_wide.c
    hardened/hooks.c hardened/open.c hardened/quarantine.c midend/mid_cache.c midend/mid_slab.c midend/mid_word.c
    midend/midend.c)
list(TRANSFORM jw_fast_sources PREPEND ${PROJECT_SOURCE_DIR}/src/)

# jw_objects(NAME OVERRIDE 0|1 [PLATFORM linux|sim] [SECURE] [TAGGED] [NEAR] [DEFINITIONS -DX=Y...]): the object library
# NAME of all sources; SECURE: hardened, as all are with JW_SECURE; TAGGED: plain, with memory tags; NEAR: only for a
# shared library.
function(jw_objects name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "SECURE;TAGGED;NEAR" "OVERRIDE;PLATFORM" "DEFINITIONS")
    if(JW_SECURE)
        set(arg_SECURE TRUE)
    endif()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
    if(arg_PLATFORM STREQUAL "sim")
        list(FILTER sources EXCLUDE REGEX "/src/platform/linux[^/]*\\.c$")
    else()
        list(FILTER sources EXCLUDE REGEX "/src/platform/sim[^/]*\\.c$")
    endif()
    if(NOT arg_SECURE)
        list(FILTER sources EXCLUDE REGEX "/src/hardened/|/src/platform/random\\.c$")
        if(NOT arg_TAGGED)
            list(FILTER sources EXCLUDE REGEX "/src/platform/linux_tags\\.c$")
        endif()
    endif()
    set(small_sources ${sources})
    list(FILTER sources EXCLUDE REGEX "/src/api/pthread_create\\.c$") # the shared library's
    add_library(${name} OBJECT ${sources})
    list(REMOVE_ITEM small_sources ${jw_fast_sources})
    set(not_checked $<NOT:$<BOOL:${JW_CHECKED}>>)
    set_source_files_properties(${small_sources} PROPERTIES COMPILE_OPTIONS
        "$<${not_checked}:-Os;${jw_small_options}>")
    set_source_files_properties(${jw_fast_sources} PROPERTIES COMPILE_OPTIONS "$<${not_checked}:${jw_fast_options}>")
    set(far_sources ${jw_fast_sources})
    list(FILTER far_sources INCLUDE REGEX "/src/(backend/|core/(route|realloc)\\.c)")
    set_property(SOURCE ${far_sources} APPEND PROPERTY COMPILE_OPTIONS "$<${not_checked}:${jw_far_options}>")
    set_property(SOURCE ${jw_unwound_sources} APPEND PROPERTY COMPILE_OPTIONS -fexceptions)
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    # An archive of ours is one object whose names are ours alone, which needs machine code: whatever a parent project
    # or a packager compiles with, it links.
    set_target_properties(${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    set(joins -fno-lto)
    if(jw_compiler_joins AND arg_OVERRIDE AND NOT (JW_CHECKED OR JW_SANITIZE))
        set(joins -flto -ffat-lto-objects) # both forms: machine code for the archive
    endif()
    if(arg_NEAR)
        list(APPEND joins ${jw_near_options})
    endif()
    target_compile_options(${name} PRIVATE ${jw_compile_options} ${joins} $<IF:$<BOOL:${JW_CHECKED}>,-O1,-O2>)
    if(JW_WERROR)
        target_compile_options(${name} PRIVATE -Werror)
    endif()
    target_compile_definitions(${name} PRIVATE JW_OVERRIDE=${arg_OVERRIDE})
    if(JW_BESIDE_TOOLS AND NOT (arg_OVERRIDE OR arg_SECURE OR JW_SANITIZE OR arg_PLATFORM STREQUAL "sim"))
        target_compile_definitions(${name} PRIVATE JW_BESIDE_TOOLS=1 $<$<BOOL:${jw_reads_memcheck}>:JW_MEMCHECK=1>)
    endif()
    # Headers depend on these, so whoever includes them must see the same values.
    target_compile_definitions(${name} PUBLIC JW_CHECKED=$<BOOL:${JW_CHECKED}>
        JW_LINK_CHECK=$<BOOL:${JW_LINK_CHECK}> JW_SEAL=$<BOOL:${JW_SEAL}>
        $<$<BOOL:${arg_SECURE}>:JW_SECURE=1> $<$<BOOL:${arg_TAGGED}>:JW_TAGGED=1>
        $<$<BOOL:${JW_GRANULE_SHIFT}>:JW_GRANULE_SHIFT=${JW_GRANULE_SHIFT}> ${arg_DEFINITIONS})
    if(JW_OPTIONS_FILE)
        target_compile_definitions(${name} PRIVATE JW_OPTIONS_FILE="${JW_OPTIONS_FILE}")
    endif()
    if(JW_SANITIZE)
        target_compile_options(${name} PUBLIC
            -fsanitize=${JW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_link_options(${name} PUBLIC -fsanitize=${JW_SANITIZE})
    endif()
    target_link_libraries(${name} PUBLIC Threads::Threads)
endfunction()

# jw_archive(NAME OBJECTS): the static library NAME of ONE object. The linker takes it whole or not at all, so a program
# never gets malloc from us and free from libc; and only exported names are visible, ours have no prefix inside.
# C++ operators are weak, as the C++ runtime's are: a program may replace any of them.
function(jw_archive name objects)
    separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS}")
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
    add_custom_command(OUTPUT ${object}
        COMMAND ${CMAKE_C_COMPILER} ${flags} -fno-lto -r -nostdlib -Wl,--force-group-allocation -o ${object}
                $<TARGET_OBJECTS:${objects}>
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden --remove-section=.gnu.lto_*
                --wildcard --weaken-symbol=_Zn* --weaken-symbol=_Zd* ${object}
        DEPENDS ${objects} $<TARGET_OBJECTS:${objects}> COMMAND_EXPAND_LISTS VERBATIM)
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    add_library(${name} STATIC ${object})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
    jw_interface(${name})
    # As the shared library itself, see below: a plugin with an archive of ours in it.
    set(loadable SHARED_LIBRARY MODULE_LIBRARY)
    target_link_options(${name} INTERFACE
        "$<$<IN_LIST:$<TARGET_PROPERTY:TYPE>,${loadable}>:-Wl,-z,nodelete>")
endfunction()

# jw_shared(NAME OBJECTS): the shared library NAME.
function(jw_shared name objects)
    add_library(${name} SHARED $<TARGET_OBJECTS:${objects}> ${PROJECT_SOURCE_DIR}/src/api/pthread_create.c)
    foreach(property INCLUDE_DIRECTORIES COMPILE_OPTIONS COMPILE_DEFINITIONS)
        set_property(TARGET ${name} PROPERTY ${property} $<TARGET_PROPERTY:${objects},${property}>)
    endforeach()
    target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    # now: binding a function late takes the loader's lock, and could do it inside malloc. nodelete: threads end, and
    # the reclamation thread runs, after any dlclose.
    target_link_options(${name} PRIVATE -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -Wl,--no-undefined -Wl,--as-needed)
    # The names of the ends of a section (base/published.h) are ours alone, also where the compiler joins all files.
    target_link_options(${name} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/hidden.map)
    # The compiler's files for a library's start and end serve destructors at dlclose, which never unloads ours, and
    # transactional memory. They are 0.2 KB of text, 0.1 KB of unwind tables.
    if(jw_near_options)
        target_link_options(${name} PRIVATE -nostartfiles)
        target_compile_definitions(${name} PRIVATE WITHOUT_STARTFILES=1)
    endif()
    # Where libjwwatch.so is, which `watch:true` loads: in the build, and installed.
    set_target_properties(${name} PROPERTIES BUILD_WITH_INSTALL_RPATH TRUE INSTALL_RPATH "$ORIGIN;$ORIGIN/jwmalloc")
    if(jw_compiler_joins AND NOT (JW_CHECKED OR JW_SANITIZE))
        target_link_options(${name} PRIVATE
            ${jw_compile_options} -O2 ${jw_dense_options} -flto=1 -flto-partition=one -fuse-linker-plugin)
    endif()
    jw_interface(${name})
endfunction()

function(jw_interface name)
    target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${name} INTERFACE Threads::Threads)
endfunction()
