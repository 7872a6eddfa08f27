# oomdoctor_program_table(OUTPUT): writes the source file that defines all_programs(), the programs in rules/programs/.
#
# The target oomdoctor_program_compiler, created by the caller, reads them. The next build finds a new file automatically.
function(oomdoctor_program_table output)
  set(root ${PROJECT_SOURCE_DIR}/rules/programs)
  file(GLOB files CONFIGURE_DEPENDS ${root}/*.toml)
  file(CONFIGURE OUTPUT ${output}.files CONTENT "${files}")  # changes with a new file and with a removed one
  add_custom_command(
    OUTPUT ${output}
    COMMAND oomdoctor_program_compiler ${root} ${output}
    DEPENDS oomdoctor_program_compiler ${files} ${output}.files
    COMMENT "Checking the programs"
    VERBATIM)
endfunction()
