# oomdoctor_parser_table(OUTPUT): writes the table of all parsers, from the file names in parsers/.
#
# parsers/foo.cc defines oomdoctor::parsers::foo. The table names each parser, so that the linker keeps it, and is
# sorted, so that the order does not depend on the file system. The next build finds a new file automatically.
function(oomdoctor_parser_table output)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/parsers ${PROJECT_SOURCE_DIR}/parsers/*.cc)
  list(SORT files)
  set(declarations "")
  set(entries "")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM name)
    if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
      message(FATAL_ERROR "parsers/${file}: the file's name is the parser's name, so it must be snake_case")
    endif()
    string(APPEND declarations "extern const Parser ${name};\n")
    string(APPEND entries "    &parsers::${name},\n")
  endforeach()
  list(LENGTH files count)
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[// Written by src/cmake/ParserTable.cmake from the file names in parsers/.
#include <array>
#include <span>

#include "parse/parser.h"

namespace oomdoctor {

namespace parsers {
@declarations@}  // namespace parsers

std::span<const Parser* const> all_parsers() {
  static constexpr std::array<const Parser*, @count@> table = {
@entries@  };
  return table;
}

}  // namespace oomdoctor
]])
endfunction()
