# How jwmalloc's objects and libraries are made; tests make variants of their own with the same functions.

find_package(Threads REQUIRED)

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

# A call to a helper for each atomic operation would cost free() a stack frame. Builds for Armv8.1 and up should say so
# (-march=armv8.1-a): then each is one instruction.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    list(APPEND jw_compile_options -mno-outline-atomics)
endif()

# Only macros: nothing of Valgrind is linked. Looked for again by each run of CMake until it is there.
find_path(jw_memcheck_header valgrind/memcheck.h)
mark_as_advanced(jw_memcheck_header)

# A new-handler may throw through operator new.
set(jw_unwound_sources ${PROJECT_SOURCE_DIR}/src/api/new_delete.c)

# Where nobody waits for speed: a phone pays for every page of text.
set(jw_cold_sources
    base/print.c config/options.c insight/statistics.c frontend/heap_statistics.c frontend/heap_lifecycle.c
    frontend/object_cache.c core/describe.c core/fork.c core/start.c backend/page_map.c backend/huge.c
    backend/root.c platform/linux.c platform/linux_memory.c platform/linux_thread.c platform/linux_libc.c
    platform/linux_process.c platform/linux_confine.c platform/linux_tool.c platform/deferred_unmap.c
    platform/misuse.c backend/reclaimer.c api/glibc.c api/libc_names.c backend/directory.c frontend/suspect.c
    frontend/remote_reclaim.c core/suspects.c core/object_size.c midend/mid_shapes.c midend/midend_round.c
    midend/midend_statistics.c)
list(TRANSFORM jw_cold_sources PREPEND ${PROJECT_SOURCE_DIR}/src/)

# jw_objects(NAME OVERRIDE 0|1 [PLATFORM linux|sim] [SECURE] [DEFINITIONS -DX=Y...]): the object library NAME of all
# sources; SECURE: hardened, as all are with JW_SECURE.
function(jw_objects name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "SECURE" "OVERRIDE;PLATFORM" "DEFINITIONS")
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
        list(FILTER sources EXCLUDE REGEX "/src/hardened/|/src/platform/(linux_secure|random)\\.c$")
    endif()
    list(FILTER sources EXCLUDE REGEX "/src/api/pthread_create\\.c$") # the shared library's
    add_library(${name} OBJECT ${sources})
    set_source_files_properties(${jw_unwound_sources} PROPERTIES
        COMPILE_OPTIONS "-fexceptions")
    set_source_files_properties(${jw_cold_sources} PROPERTIES COMPILE_OPTIONS $<$<NOT:$<BOOL:${JW_CHECKED}>>:-Os>)
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    # An archive of ours is one object whose names are ours alone, which needs machine code: whatever a parent project
    # or a packager compiles with, it links.
    set_target_properties(${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    target_compile_options(${name} PRIVATE ${jw_compile_options} -fno-lto $<IF:$<BOOL:${JW_CHECKED}>,-O1,-O2>)
    if(JW_WERROR)
        target_compile_options(${name} PRIVATE -Werror)
    endif()
    target_compile_definitions(${name} PRIVATE JW_OVERRIDE=${arg_OVERRIDE})
    if(JW_BESIDE_TOOLS AND NOT (arg_OVERRIDE OR arg_SECURE OR JW_SANITIZE OR arg_PLATFORM STREQUAL "sim"))
        target_compile_definitions(${name} PRIVATE JW_BESIDE_TOOLS=1 $<$<BOOL:${jw_memcheck_header}>:JW_MEMCHECK=1>)
    endif()
    # Headers depend on these, so whoever includes them must see the same values.
    target_compile_definitions(${name} PUBLIC JW_CHECKED=$<BOOL:${JW_CHECKED}>
        $<$<BOOL:${arg_SECURE}>:JW_SECURE=1>
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
function(jw_archive name objects)
    separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS}")
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
    add_custom_command(OUTPUT ${object}
        COMMAND ${CMAKE_C_COMPILER} ${flags} -fno-lto -r -nostdlib -Wl,--force-group-allocation -o ${object}
                $<TARGET_OBJECTS:${objects}>
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${object}
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
    jw_interface(${name})
endfunction()

function(jw_interface name)
    target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${name} INTERFACE Threads::Threads)
endfunction()
