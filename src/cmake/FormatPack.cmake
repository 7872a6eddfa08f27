# oomdoctor_format_pack(OUTPUT): writes the source file that defines all_parsers(), the table of all parsers.
#
# parsers/NAME.cc defines oomdoctor::parsers::NAME, parsers/NAME.toml contains the step formats of the same family. The
# target oomdoctor_format_compiler, created by the caller, checks the .toml files as the program checks a user's formats.
# The table is sorted, so that the order does not depend on the file system. The next build finds a new file
# automatically.
function(oomdoctor_format_pack output)
  set(root ${PROJECT_SOURCE_DIR}/parsers)
  file(GLOB files CONFIGURE_DEPENDS ${root}/*.cc ${root}/*.toml)
  set(formats ${files})
  list(FILTER formats INCLUDE REGEX "\\.toml$")
  file(CONFIGURE OUTPUT ${output}.files CONTENT "${files}")  # changes with a new file and with a removed one
  add_custom_command(
    OUTPUT ${output}
    COMMAND oomdoctor_format_compiler ${root} ${output}
    DEPENDS oomdoctor_format_compiler ${formats} ${output}.files
    COMMENT "Checking the formats"
    VERBATIM)
endfunction()
