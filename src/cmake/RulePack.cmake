# oomdoctor_rule_pack(OUTPUT): writes the rules in rules/ into a source file that defines shipped_rules().
#
# The program carries its rules inside, so that it is one file that runs anywhere, and they are checked here, once, not at
# each of its starts: the target oomdoctor_rule_compiler, which the caller makes, reads them as the program reads a user's
# rules. A rule is found by its folder and name: a new file needs no edit, and a change to one is built in by the next
# build.
function(oomdoctor_rule_pack output)
  set(root ${PROJECT_SOURCE_DIR}/rules)
  file(GLOB files CONFIGURE_DEPENDS ${root}/causes/*.toml ${root}/fixes/*.toml ${root}/myths/*.toml
       ${root}/places.toml)
  add_custom_command(
    OUTPUT ${output}
    COMMAND oomdoctor_rule_compiler ${root} ${output}
    DEPENDS oomdoctor_rule_compiler ${files}
    COMMENT "Checking the rules"
    VERBATIM)
endfunction()
