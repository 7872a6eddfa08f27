# oomdoctor_warnings(TARGET): the warnings for our own code, which compiles without any. Third-party libraries are
# SYSTEM includes and give no warnings.
function(oomdoctor_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow)
  if(OOMDOCTOR_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
