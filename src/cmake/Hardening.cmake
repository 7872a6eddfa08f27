# oomdoctor_hardening(): compiles and links every target so that a memory error ends the program and cannot be
# exploited, because logs come from strangers. Together these options cost no measurable time (tests/bench).
#
# Sanitizer builds skip them: sanitizers find the same errors and more, and need their own checks of the C library.
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)
include(CheckPIESupported)

macro(oomdoctor_hardening)
  check_pie_supported(LANGUAGES CXX)  # without it, CMake links no position-independent program
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  if(NOT OOMDOCTOR_SANITIZE)
    add_compile_definitions(_GLIBCXX_ASSERTIONS)  # checks the indices of vectors
    # The C library's checked functions need an optimised build. Some compilers define the macro themselves, at another
    # level.
    add_compile_options("$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
    foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection)  # the last: x86 only
      string(MAKE_C_IDENTIFIER "OOMDOCTOR_HAS${flag}" has)
      check_cxx_compiler_flag(${flag} ${has})
      if(${has})
        add_compile_options(${flag})
      endif()
    endforeach()
    foreach(flag IN ITEMS -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
      string(MAKE_C_IDENTIFIER "OOMDOCTOR_HAS${flag}" has)
      check_linker_flag(CXX ${flag} ${has})
      if(${has})
        add_link_options(${flag})
      endif()
    endforeach()
  endif()
endmacro()
