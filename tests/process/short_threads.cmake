# Threads that come and go, in one interval between two rounds and in several.
# The hardened build's quarantine touches other pages. An archive sees no pthread_create.
if(NOT jw_emulated AND NOT JW_SECURE)
    jw_test(process.short_threads_kept SOURCES process/short_threads.c MODES preload LABELS api TIMEOUT 60
        ARGUMENTS kept CONF reclaim_interval:60000)
    jw_test(process.short_threads_gone SOURCES process/short_threads.c MODES preload LABELS api TIMEOUT 60
        ARGUMENTS gone CONF reclaim_interval:10)
    jw_test(process.short_threads_left SOURCES process/short_threads.c MODES preload LABELS api TIMEOUT 60
        ARGUMENTS left CONF reclaim_interval:500)
    jw_test(process.short_threads_lone SOURCES process/short_threads.c MODES preload LABELS api TIMEOUT 60
        ARGUMENTS lone CONF reclaim_interval:60000)
endif()
