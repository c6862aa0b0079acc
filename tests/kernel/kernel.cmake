# kernel.cmake - what a kernel needs that is booted for tests (tools/jw/kernel.py), and what each page size costs there.
if(JW_BOOTED)
    add_executable(kernel-init kernel/init.c)
    target_compile_options(kernel-init PRIVATE ${jw_test_options})
    target_compile_definitions(kernel-init PRIVATE _GNU_SOURCE)
    target_link_options(kernel-init PRIVATE -static)
    jw_test(measure.memory SOURCES kernel/memory.c MODES control preload static LABELS measure TIMEOUT 120
        CONF reclaim_thread:true)
    jw_test(kernel.huge_pages SOURCES kernel/settings.c MODES preload LABELS measure TIMEOUT 60 ARGUMENTS huge_pages)
    jw_test(kernel.overcommit SOURCES kernel/settings.c MODES preload LABELS measure TIMEOUT 30 ARGUMENTS overcommit)
    jw_program(pressure control SOURCES process/pressure.c)
    jw_test(kernel.group SOURCES kernel/settings.c MODES preload LABELS measure TIMEOUT 60
        ARGUMENTS group $<TARGET_FILE:pressure-control> 160 CONF pressure:true)
endif()
