# oomdoctor_format_pack(OUTPUT): writes the source file that defines all_parsers(), the table of all parsers.
#
# parsers/NAME.toml is a family of formats; the target oomdoctor_format_compiler, created by the caller, checks it.
# parsers/NAME.cc has the functions that it names. The words of rules/programs/ are a family, too. The table is sorted, so that the order does not depend on the file
# system. The next build finds a new file automatically.
function(oomdoctor_format_pack output)
  set(root ${PROJECT_SOURCE_DIR})
  file(GLOB formats CONFIGURE_DEPENDS ${root}/parsers/*.toml ${root}/rules/programs/*.toml)
  file(CONFIGURE OUTPUT ${output}.files CONTENT "${formats}")  # changes with a new file and with a removed one
  add_custom_command(
    OUTPUT ${output}
    COMMAND oomdoctor_format_compiler ${root} ${output}
    DEPENDS oomdoctor_format_compiler ${formats} ${output}.files
    COMMENT "Checking the formats"
    VERBATIM)
endfunction()
