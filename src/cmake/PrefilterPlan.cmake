# oomdoctor_prefilter_plan(OUTPUT): writes the source file that defines shipped_prefilter_plan().
#
# The caller creates the target oomdoctor_prefilter_planner. It plans for the anchors of all parsers, and for text like
# that in samples/ (its logs and tables). After a change to either, the next build makes a new plan.
function(oomdoctor_prefilter_plan output)
  set(root ${PROJECT_SOURCE_DIR}/samples)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${root}/*.log ${root}/*.csv)
  add_custom_command(
    OUTPUT ${output}
    COMMAND oomdoctor_prefilter_planner ${root} ${output}
    DEPENDS oomdoctor_prefilter_planner ${files}
    COMMENT "Planning the prefilter"
    VERBATIM)
endfunction()
