# oomdoctor_page_assets(OUTPUT): embeds the style sheet and the scripts of the HTML pages, src/render/page/, in a source
# file that defines shipped_page_assets(). Each has the hash that the page's Content-Security-Policy lists.
#
# The build also runs this file as a script (cmake -P), which writes the source file.

function(oomdoctor_page_assets output)
  set(page ${PROJECT_SOURCE_DIR}/src/render/page)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -D PAGE=${page} -D OUTPUT=${output} -P ${PROJECT_SOURCE_DIR}/src/cmake/PageAssets.cmake
    DEPENDS ${page}/page.css ${page}/page.js ${page}/survey.js ${PROJECT_SOURCE_DIR}/src/cmake/PageAssets.cmake
    COMMENT "Embedding the HTML report's page"
    VERBATIM)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/PolicyHash.cmake)

# Makes a C++ initialiser {text, hash}. The text must not end its own string literal or its element of the page.
function(asset text result)
  string(TOLOWER "${text}" lower)
  foreach(end IN ITEMS "</script" "</style" "<!--" ")page_asset\"")
    string(FIND "${lower}" "${end}" found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "src/render/page: '${end}' must not stand in a file of the page")
    endif()
  endforeach()
  policy_hash("${text}" hash)
  set(${result} "{R\"page_asset(${text})page_asset\", \"${hash}\"}" PARENT_SCOPE)
endfunction()

file(READ ${PAGE}/page.css style)
file(READ ${PAGE}/page.js script)
file(READ ${PAGE}/survey.js survey_script)
asset("${style}" style)
asset("${script}" script)
asset("${survey_script}" survey_script)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[// Written by src/cmake/PageAssets.cmake from src/render/page/.
#include "render/html.h"

namespace oomdoctor {

const PageAssets& shipped_page_assets() {
  static constexpr PageAssets assets = {
      @style@,
      @script@,
      @survey_script@};
  return assets;
}

}  // namespace oomdoctor
]])
