# oomdoctor_rule_pack(OUTPUT): writes the rules in rules/ into a source file that defines shipped_rules().
#
# The program carries its rules inside, so that it is one file that runs anywhere. A rule is found by its folder and name:
# a new file needs no edit, and a change to one is built in by the next build.

# Appends the text as raw string pieces: compilers need not take a literal of more than 65535 bytes, so a long file is cut
# at line ends.
function(oomdoctor_raw_string text result)
  set(pieces "")
  string(LENGTH "${text}" left)
  while(left GREATER 30000)
    string(SUBSTRING "${text}" 0 30000 head)
    string(FIND "${head}" "\n" end REVERSE)
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${text}" 0 ${end} head)
    string(SUBSTRING "${text}" ${end} -1 text)
    string(APPEND pieces "R\"rule(${head})rule\"\n")
    string(LENGTH "${text}" left)
  endwhile()
  string(APPEND pieces "R\"rule(${text})rule\"")
  set(${result} "${pieces}" PARENT_SCOPE)
endfunction()

function(oomdoctor_rule_pack output)
  set(root ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../rules)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${root} ${root}/causes/*.toml ${root}/fixes/*.toml ${root}/myths/*.toml)
  list(SORT files)
  set(entries "")
  foreach(file IN LISTS files)
    file(READ ${root}/${file} text)
    oomdoctor_raw_string("${text}" raw)
    string(APPEND entries "      {\"${file}\",\n${raw}},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${root}/${file})
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[// Written by src/cmake/RulePack.cmake from rules/.
#include "judge/rule_pack.h"

namespace oomdoctor {

const std::vector<RuleFile>& shipped_rules() {
  static const std::vector<RuleFile> rules = {
@entries@  };
  return rules;
}

}  // namespace oomdoctor
]])
endfunction()
