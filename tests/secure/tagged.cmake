# libjwmalloc-tags, on processors with memory tags and without.

# jw_tagged_program(NAME SOURCES...): the executable NAME-tagged, linked with the library.
function(jw_tagged_program name)
    jw_program(${name} tagged SOURCES ${ARGN} CMOCKA)
    target_link_libraries(${name}-tagged PRIVATE jwmalloc-tags)
endfunction()

# jw_tagged_test(NAME PROGRAM PROCESSOR OPTIONS [ARGUMENTS...])
function(jw_tagged_test name program processor options)
    jw_script(tagged.${name} LABELS secure TIMEOUT 60 COMMAND
        ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${program}-tagged> ${ARGN})
    set_tests_properties(tagged.${name} PROPERTIES ENVIRONMENT "QEMU_CPU=${processor};JWMALLOC_CONF=${options}")
endfunction()

jw_tagged_program(tagged secure/tagged.c secure/tagged_misuses.c)
jw_tagged_test(faults tagged max tags:sync faults)
jw_tagged_test(late tagged max tags:async late)
jw_tagged_test(off tagged max tags:off nothing)
jw_tagged_test(without tagged cortex-a72 tags:sync nothing)
jw_tagged_test(zero tagged max init:zero zero)
jw_tagged_test(pattern tagged max init:pattern pattern)

# No false alarm: what programs do with any malloc.
foreach(part basic realloc aligned limits ctl)
    jw_tagged_program(${part}_test api/${part}_test.c)
    jw_tagged_test(api.${part} ${part}_test max tags:sync)
endforeach()
jw_tagged_program(new_contents_test api/new_contents_test.c)
foreach(init zero pattern)
    jw_tagged_test(api.new_contents_${init} new_contents_test max init:${init} ${init})
endforeach()
jw_tagged_test(api.new_contents_run_time new_contents_test max tags:sync run_time)
if(jw_cxx_works)
    jw_tagged_program(operators_test api/operators_test.cpp)
    jw_tagged_test(api.operators operators_test max tags:sync)
endif()
foreach(part thread_ends disabled passed_on)
    jw_tagged_program(${part} process/${part}.c)
    jw_tagged_test(process.${part} ${part} max tags:sync)
endforeach()
jw_tagged_program(mixed stress/mixed.c)
jw_tagged_test(stress.mixed mixed max tags:sync,reclaim_interval:10 ${jw_mixed})
jw_tagged_test(stress.mixed_without mixed cortex-a72 tags:sync ${jw_mixed})
