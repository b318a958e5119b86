# What the static libraries of an installed Sfumato link against.
include(CMakeFindDependencyMacro)
find_dependency(PkgConfig)
pkg_check_modules(systemc REQUIRED IMPORTED_TARGET systemc)
find_dependency(ZLIB)
include(${CMAKE_CURRENT_LIST_DIR}/sfumatoTargets.cmake)
