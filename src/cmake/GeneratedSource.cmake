# oomdoctor_generated_source(OUTPUT COMPILER FOLDER COMMENT text FILES pattern...): writes a source file from other files.
#
# COMPILER is a program of the build, created by the caller. It reads the files in FOLDER, checks them, and writes
# OUTPUT. The program contains them this way, so it is a single file that runs anywhere and need not check them at each
# start. Files are found by their patterns, so a new file needs no edit, and the next build includes it.
#
# With OOMDOCTOR_GENERATED_BY it copies the text that this other build of the same tree made, and runs no program. Whoever
# sets it keeps that build up to date.
function(oomdoctor_generated_source output compiler folder)
  cmake_parse_arguments(PARSE_ARGV 3 generated "" "COMMENT" "FILES")
  list(TRANSFORM generated_FILES PREPEND ${folder}/)
  file(GLOB files CONFIGURE_DEPENDS ${generated_FILES})
  if(OOMDOCTOR_GENERATED_BY)
    cmake_path(GET output FILENAME name)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -E copy ${OOMDOCTOR_GENERATED_BY}/generated/${name} ${output}
      DEPENDS ${OOMDOCTOR_GENERATED_BY}/generated/${name}
      VERBATIM)
    return()
  endif()
  file(CONFIGURE OUTPUT ${output}.files CONTENT "${files}")  # changes with a new file and with a removed one
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${compiler} ${folder} ${output}
    DEPENDS ${compiler} ${files} ${output}.files
    COMMENT "${generated_COMMENT}"
    VERBATIM)
endfunction()
