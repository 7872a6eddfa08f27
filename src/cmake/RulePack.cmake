# oomdoctor_rule_pack(OUTPUT): writes the rules in rules/ to a source file that defines shipped_rules().
#
# The program contains its rules, so that it is a single file that runs anywhere. The build checks them once, so that
# the program need not check them at each start: the target oomdoctor_rule_compiler, created by the caller, reads them
# in the same way as the program reads a user's rules. Rules are found by folder and name, so a new file needs no edit.
# The next build includes every change.
function(oomdoctor_rule_pack output)
  set(root ${PROJECT_SOURCE_DIR}/rules)
  file(GLOB files CONFIGURE_DEPENDS ${root}/causes/*.toml ${root}/fixes/*.toml ${root}/myths/*.toml
       ${root}/programs/*.toml ${root}/*.toml)
  add_custom_command(
    OUTPUT ${output}
    COMMAND oomdoctor_rule_compiler ${root} ${output}
    DEPENDS oomdoctor_rule_compiler ${files}
    COMMENT "Checking the rules"
    VERBATIM)
endfunction()
