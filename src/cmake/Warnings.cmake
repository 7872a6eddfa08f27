# oomdoctor_warnings(TARGET): the warnings that our own code compiles without. Libraries of others come in as SYSTEM
# includes and stay silent.
function(oomdoctor_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow)
  if(OOMDOCTOR_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
