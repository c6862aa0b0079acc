# The limits that a program sets. Not in the hardened build, whose quarantine and regions keep pages, nor where pages
# are an emulator's or a sanitizer's.
if(NOT (JW_SECURE OR JW_SANITIZE OR jw_emulated))
    foreach(case charged group asleep soft sleepers hard callback threads)
        jw_test(process.limit_${case} SOURCES process/memory_limits.c MODES static prefixed LABELS api TIMEOUT 60
            ARGUMENTS ${case})
    endforeach()
endif()
