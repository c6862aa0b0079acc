# Tests that only the hardened build has.
jw_test(secure.fork_steps SOURCES secure/fork_steps.c MODES static LABELS secure TIMEOUT 60 CONF quarantine:16K)
jw_test(secure.many_rings SOURCES secure/many_rings.c MODES static LABELS secure TIMEOUT 60)

# Some cases on processors without vectors of 32 bytes (Westmere), and without AES, too.
find_program(jw_qemu_x86 qemu-x86_64)
if(jw_qemu_x86 AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 AND CMAKE_SIZEOF_VOID_P EQUAL 8)
    foreach(processor Westmere core2duo)
        jw_script(secure.caught_on_${processor} LABELS secure TIMEOUT 60 COMMAND python3 -B
            ${CMAKE_CURRENT_SOURCE_DIR}/secure/promises.py caught
            overflow_small,overflow_small_slack,overflow_into_next,write_after_free_small,double_free,size_is_exact
            ${jw_qemu_x86} -cpu ${processor} $<TARGET_FILE:hardened-static>)
    endforeach()
endif()
