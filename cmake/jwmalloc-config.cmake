# jwmalloc::jwmalloc and jwmalloc::static replace malloc; jwmalloc::jwmalloc-prefixed is for use beside the system's.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/jwmalloc-targets.cmake)
