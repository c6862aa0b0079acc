# The limits that a program sets. Only some in the hardened build, whose quarantine and regions keep pages. None where
# pages are an emulator's or a sanitizer's.
if(NOT (JW_SECURE OR JW_SANITIZE OR jw_emulated))
    foreach(case charged group asleep soft sleepers hard given callback whole set threads)
        set(interval 500)
        if(case STREQUAL soft)
            set(interval 60000) # on a busy machine a round came between a free and the look at what it leaves
        endif()
        jw_test(process.limit_${case} SOURCES process/memory_limits.c MODES static prefixed LABELS api TIMEOUT 60
            ARGUMENTS ${case} CONF reclaim_interval:${interval})
    endforeach()
    foreach(case huge large moved reused cancelled heapless far excess once)
        jw_test(process.limit_${case} SOURCES process/limit_growth.c MODES static prefixed LABELS api TIMEOUT 60
            ARGUMENTS ${case})
    endforeach()
endif()

if(JW_SECURE AND NOT JW_SANITIZE)
    foreach(case once huge heapless kept quarantined)
        jw_test(process.limit_${case} SOURCES process/limit_growth.c MODES static prefixed LABELS api TIMEOUT 60
            ARGUMENTS ${case})
    endforeach()
endif()

# What new objects hold, if a program asks for it.
if(NOT JW_SECURE) # where new objects are zero
    foreach(init zero pattern)
        jw_test(api.new_contents_${init} SOURCES api/new_contents_test.c MODES static preload LABELS api TIMEOUT 60
            ARGUMENTS ${init} CONF init:${init})
    endforeach()
    jw_test(api.new_contents_run_time SOURCES api/new_contents_test.c MODES static preload LABELS api TIMEOUT 60
        ARGUMENTS run_time)
endif()

# Programs that delete objects with a wrong size.
if(NOT JW_SANITIZE)
    jw_test(process.unchecked_sizes SOURCES process/unchecked_sizes.c MODES static preload LABELS api TIMEOUT 60
        CONF check_sizes:false)
endif()

# As many mappings as the kernel allows. In the hardened build each object's guard parts it from its neighbours.
if(NOT (JW_SECURE OR JW_SANITIZE OR jw_emulated))
    jw_test(process.many_mappings SOURCES process/many_mappings.c MODES static preload LABELS api TIMEOUT 60)
endif()

# The calls that a program spares its threads.
if(NOT (JW_SANITIZE OR jw_emulated))
    set(keeps "")
    if(JW_SECURE)
        set(keeps quarantines)
    endif()
    jw_test(process.spared_callers SOURCES process/spared_callers.c MODES static preload LABELS api TIMEOUT 120
        ARGUMENTS ${keeps} CONF spare_callers:true,reclaim_thread:true,reclaim_interval:2000)
    jw_test(process.spared_alone SOURCES process/spared_alone.c MODES static prefixed LABELS api TIMEOUT 120
        CONF spare_callers:true)
    jw_test(process.spared_paused SOURCES process/spared_alone.c MODES static LABELS api TIMEOUT 60
        ARGUMENTS paused CONF spare_callers:true,reclaim_thread:true)
    jw_test(process.spared_ended SOURCES process/spared_ended.c MODES preload LABELS api TIMEOUT 60
        CONF spare_callers:true)
    jw_test(process.spared_limit SOURCES process/spared_limit.c MODES static prefixed LABELS api TIMEOUT 60
        CONF spare_callers:true)
    if(NOT JW_SECURE) # where 1 MB and its guard take half of a root
        jw_test(process.spared_limit_os SOURCES process/spared_limit.c MODES static prefixed LABELS api TIMEOUT 60
            ARGUMENTS os CONF spare_callers:true)
    endif()
    jw_test(process.pressure_creator_gone SOURCES process/pressure_creator_gone.c MODES preload LABELS api TIMEOUT 60
        CONF reclaim_thread:true,pressure:true)
endif()

# The reserve of real-time threads. The hardened build has none.
if(NOT (JW_SANITIZE OR jw_emulated))
    set(cases calls slowly exhausted kept ended fork refused locked)
    if(JW_SECURE)
        set(cases absent)
    endif()
    foreach(case ${cases})
        jw_test(process.realtime_${case} SOURCES process/realtime.c MODES static preload LABELS api TIMEOUT 60
            ARGUMENTS ${case} CONF reclaim_interval:10)
    endforeach()
endif()

# Tasks that wait for memory, as a file of the test says.
if(NOT (JW_SECURE OR JW_SANITIZE OR jw_emulated))
    jw_test(process.stalls SOURCES process/stalls.c MODES static preload LABELS api TIMEOUT 60)
endif()

# A control group with a limit, in which other allocators are killed.
if(TARGET jwmalloc AND NOT (JW_SECURE OR JW_CHECKED OR JW_SANITIZE OR CMAKE_CROSSCOMPILING))
    jw_program(pressure control SOURCES process/pressure.c)
    jw_script(process.pressure LABELS api TIMEOUT 120 COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/process/pressure.py
        $<TARGET_FILE:pressure-control> $<TARGET_FILE:jwmalloc>)
    set_tests_properties(process.pressure PROPERTIES RUN_SERIAL TRUE)
endif()

# Silence of two minutes, in release only.
if(PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build")
    jw_test(process.no_wakeups_minutes SOURCES process/no_wakeups.c MODES preload LABELS api TIMEOUT 400 ARGUMENTS 120
        CONF reclaim_interval:10)
endif()

include(process/pages.cmake)
