# kernel.cmake - what a kernel needs that is booted for tests (tools/jw/kernel.py), and what each page size costs there.
if(JW_BOOTED)
    add_executable(kernel-init kernel/init.c)
    target_compile_options(kernel-init PRIVATE ${jw_test_options})
    target_compile_definitions(kernel-init PRIVATE _GNU_SOURCE)
    target_link_options(kernel-init PRIVATE -static)
    jw_test(measure.memory SOURCES kernel/memory.c MODES control preload static LABELS measure TIMEOUT 120
        CONF reclaim_thread:true)
endif()
