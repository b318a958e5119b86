# Headers that are parsed once for many files. Every file still includes what it uses: presets that have no hurry (asan, fuzz) build without.
# Only tests and tools: in the layers g++ 12 gives false array-bounds warnings when <string> comes precompiled.
option(SFUMATO_PRECOMPILE "Parse the standard library, Catch2 and CLI11 once" ON)
set(standard <algorithm> <array> <charconv> <cmath> <cstdint> <functional> <limits> <map> <memory> <numeric> <optional> <set> <span> <string>
  <string_view> <tuple> <unordered_map> <utility> <variant> <vector>)
set(sfumato_headers_tests ${standard} <catch2/catch.hpp>)
set(sfumato_headers_tools ${standard} <CLI/CLI.hpp> <nlohmann/json.hpp>)

# sfumato_precompiled(target kind): targets of one kind share one precompiled header
function(sfumato_precompiled target kind)
  if(NOT SFUMATO_PRECOMPILE)
    return()
  endif()
  set(owner sfumato_precompiled_${kind})
  if(NOT TARGET ${owner})
    file(WRITE ${CMAKE_BINARY_DIR}/${owner}.cpp "")
    add_library(${owner} OBJECT ${CMAKE_BINARY_DIR}/${owner}.cpp)
    target_precompile_headers(${owner} PRIVATE ${sfumato_headers_${kind}})
    if(kind STREQUAL tests)
      target_compile_definitions(${owner} PRIVATE CATCH_CONFIG_FAST_COMPILE)
      target_compile_options(${owner} PRIVATE -O1)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
