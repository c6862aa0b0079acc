# Processes that fork.
if(NOT jw_emulated)
    # qemu-user itself fails when threads fork.
    jw_test(process.fork_storm SOURCES process/fork_storm.c MODES static preload LABELS api TIMEOUT 120)
    jw_test(process.fork_chain SOURCES process/fork_chain.c MODES static preload LABELS api TIMEOUT 60)
    jw_test(process.fork_in_handler SOURCES process/fork_in_handler.c MODES static preload LABELS api TIMEOUT 60)
    set(fresh inherited comes_back emptied threads raw_clone)
    if(NOT JW_SECURE) # where a freed object has no link to read, and each generation keeps some mappings
        list(APPEND fresh siblings generations mid_generations vfork)
    endif()
    foreach(case ${fresh})
        jw_test(process.fork_fresh_${case} SOURCES process/fork_fresh.c MODES static preload LABELS api TIMEOUT 60
            ARGUMENTS ${case})
    endforeach()
    set(sealed children counts chain misuses threads ended huge again first)
    if(JW_SECURE OR NOT JW_SEAL)
        set(sealed refused)
    endif()
    foreach(case ${sealed})
        jw_test(process.sealed_${case} SOURCES process/sealed.c MODES static preload LABELS api TIMEOUT 60
            ARGUMENTS ${case})
    endforeach()
endif()
