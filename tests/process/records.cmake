# records.cmake - the page map's records where they lag behind, and at limits of the address space.
jw_test(process.records_lag SOURCES process/records_lag.c MODES static preload LABELS api TIMEOUT 60)
if(NOT JW_SANITIZE)
    foreach(mode pieces large crowd)
        jw_test(process.records_lag_${mode} SOURCES process/records_lag.c MODES static preload LABELS api TIMEOUT 60
            ARGUMENTS ${mode} 400)
    endforeach()
    foreach(test "far pieces 800" "whole whole 600")
        string(REPLACE " " ";" arguments "${test}")
        list(POP_FRONT arguments name)
        jw_test(process.records_lag_${name} SOURCES process/records_lag.c MODES preload LABELS api TIMEOUT 60
            ARGUMENTS ${arguments})
    endforeach()
endif()
