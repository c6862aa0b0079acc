# Pages of 64 KB without a kernel that has them (kernel64-*): qemu-user tells its programs of them, and aligns mappings
# to them. It does not refuse what is aligned to 4 KB only, as a kernel would.
if(jw_emulated AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64 AND TARGET basic_test-static)
    foreach(part basic realloc aligned limits)
        jw_script(pages_64k.${part} LABELS cross TIMEOUT 60 COMMAND
            ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${part}_test-static>)
    endforeach()
    foreach(part thread_ends disabled)
        jw_script(pages_64k.${part} LABELS cross TIMEOUT 60 COMMAND
            ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${part}-static>)
    endforeach()
    jw_script(pages_64k.mixed LABELS cross TIMEOUT 120 COMMAND
        ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:mixed-static> 3 3000 3)
    foreach(part basic realloc aligned limits thread_ends disabled mixed)
        set_tests_properties(pages_64k.${part} PROPERTIES ENVIRONMENT QEMU_PAGESIZE=65536)
    endforeach()
endif()

# An unwinder outside of the process sees through the shared library.
if(jw_emulated AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64 AND TARGET jwmalloc AND jw_full_malloc_header)
    jw_program(unwound control SOURCES process/unwound.c)
    target_compile_options(unwound-control PRIVATE -fno-omit-frame-pointer)
    jw_script(process.tombstones LABELS cross TIMEOUT 60 COMMAND python3
        ${CMAKE_CURRENT_SOURCE_DIR}/process/tombstones.py $<TARGET_FILE:unwound-control> $<TARGET_FILE:jwmalloc>
        ${CMAKE_CROSSCOMPILING_EMULATOR})
endif()
