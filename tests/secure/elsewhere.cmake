# The hardened build in flavours for other processors, which are not flavours of it.
function(jw_secure_programs)
    jw_objects(jwmalloc-secure-objects OVERRIDE 1 SECURE)
    jw_archive(jwmalloc-secure jwmalloc-secure-objects)
    foreach(program ${ARGN})
        jw_program(${program} secure SOURCES secure/${program}.c)
        target_link_libraries(${program}-secure PRIVATE jwmalloc-secure)
    endforeach()
endfunction()

if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    jw_secure_programs(hardened tags)
    # Processors with memory tags, where many a case ends in a fault before the library sees it, and without.
    jw_script(secure.caught LABELS secure TIMEOUT 60 COMMAND python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/secure/promises.py
        caught all ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:hardened-secure>)
    jw_script(secure.tags LABELS secure TIMEOUT 60 COMMAND
        ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:tags-secure> faults)
    jw_script(secure.late_tags LABELS secure TIMEOUT 60 COMMAND
        ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:tags-secure> late)
    jw_script(secure.no_tags LABELS secure TIMEOUT 60 COMMAND
        ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:tags-secure> nothing)
    jw_script(secure.tags_off LABELS secure TIMEOUT 60 COMMAND
        ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:tags-secure> nothing)
    jw_script(secure.switched_tags LABELS secure TIMEOUT 60 COMMAND
        ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:tags-secure> switched)
    # No guards for the tags: behind a guarded slab's last object there is a fault of another kind.
    set_tests_properties(secure.tags PROPERTIES ENVIRONMENT "QEMU_CPU=max;JWMALLOC_CONF=guard_rate:0")
    set_tests_properties(secure.switched_tags PROPERTIES ENVIRONMENT "QEMU_CPU=max;JWMALLOC_CONF=guard_rate:0")
    set_tests_properties(secure.late_tags PROPERTIES
        ENVIRONMENT "QEMU_CPU=max;JWMALLOC_CONF=guard_rate:0,tags:async")
    set_tests_properties(secure.tags_off PROPERTIES ENVIRONMENT "QEMU_CPU=max;JWMALLOC_CONF=guard_rate:0,tags:off")
    set_tests_properties(secure.no_tags PROPERTIES ENVIRONMENT "QEMU_CPU=cortex-a72;JWMALLOC_CONF=guard_rate:0")
    set_tests_properties(secure.caught PROPERTIES ENVIRONMENT "QEMU_CPU=cortex-a72")
endif()

# With pointers of 32 bits: what needs the quarantine, among others. zero_on_allocation is a correct program.
if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND CMAKE_C_FLAGS MATCHES "-m32" AND NOT (JW_CHECKED OR JW_SANITIZE OR JW_SECURE))
    jw_secure_programs(hardened)
    jw_script(secure.caught LABELS secure TIMEOUT 60 COMMAND python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/secure/promises.py
        caught zero_on_allocation,quarantine_delays,quarantine_ends,overflow_small,write_after_free_small,double_free
        $<TARGET_FILE:hardened-secure>)
endif()

if(TARGET jwmalloc-tags AND CMAKE_CROSSCOMPILING)
    include(secure/tagged.cmake)
endif()
