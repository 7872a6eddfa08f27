# oomdoctor_warnings(TARGET): the warnings for our own code, which compiles and links without any. Third-party libraries
# are SYSTEM includes and give no warnings.
function(oomdoctor_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion)
  if(NOT CMAKE_UNITY_BUILD)
    # In files that are compiled together, a local name may hide a name of another file.
    target_compile_options(${target} PRIVATE -Wshadow)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A local name that hides another one of its own function is found there, too.
    target_compile_options(${target} PRIVATE -Wshadow=local)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # When g++ 12 has inlined std::string, it warns of copies that cannot happen (gcc bugs 105329 and 105651), and of
    # an empty std::optional (80635). clang and the sanitizers watch for the same errors.
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                                             -Wno-stringop-overread -Wno-maybe-uninitialized)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_UNITY_BUILD)
    # Files that are compiled together look like headers to g++.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  if(OOMDOCTOR_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Two files that define one name in two ways: no compiler can be right about it. Only a link across files sees it.
    target_link_options(${target} PRIVATE -Werror=odr -Werror=lto-type-mismatch)
  endif()
endfunction()
