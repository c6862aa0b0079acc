# Where things go, and how others find them: find_package(jwmalloc) and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS ${libraries} EXPORT jwmalloc)
install(FILES include/jwmalloc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/jwmalloc)
install(EXPORT jwmalloc NAMESPACE jwmalloc:: FILE jwmalloc-targets.cmake DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/jwmalloc-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/jwmalloc-config-version.cmake cmake/jwmalloc-config.cmake DESTINATION ${package})

# Relative to each other, so that the installed tree can be moved.
set(prefix ${CMAKE_INSTALL_PREFIX})
cmake_path(RELATIVE_PATH prefix BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE up)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${prefix} OUTPUT_VARIABLE libdir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${prefix} OUTPUT_VARIABLE includedir)
foreach(library jwmalloc jwmalloc-prefixed)
    configure_file(cmake/${library}.pc.in ${library}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# jwmalloc record|profile|guard|stat|top|map|report|replay|trace, if the target insight has been built.
if(TARGET jwrecord)
    cmake_path(RELATIVE_PATH prefix BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR} OUTPUT_VARIABLE bin_to_prefix)
    configure_file(insight/jwmalloc.in insight/jwmalloc @ONLY)
    set(insight ${CMAKE_INSTALL_LIBDIR}/jwmalloc)
    install(CODE "
        if(NOT EXISTS \"$<TARGET_FILE:jwrecord>\")
            message(STATUS \"Not built, so not installed: the command jwmalloc (target insight)\")
        endif()")
    install(PROGRAMS ${PROJECT_BINARY_DIR}/insight/jwmalloc DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(PROGRAMS $<TARGET_FILE:jwreplay> $<TARGET_FILE:jwwatch-reader> DESTINATION ${insight} OPTIONAL)
    foreach(library jwrecord jwdrain jwprofile jwguard jwwatch)
        install(FILES $<TARGET_FILE:${library}> DESTINATION ${insight} OPTIONAL)
    endforeach()
    install(FILES insight/requirements.txt DESTINATION ${insight}/insight)
    install(DIRECTORY insight/tools/ DESTINATION ${insight}/insight FILES_MATCHING PATTERN "*.py")
endif()
