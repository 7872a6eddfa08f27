# oomdoctor_text_asset(FILE FUNCTION HEADER OUTPUT): writes a source file that defines FUNCTION, which HEADER declares.
# FUNCTION returns the text of FILE.
function(oomdoctor_text_asset file function header output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
  file(READ ${PROJECT_SOURCE_DIR}/${file} text)
  if(text MATCHES "\\)text_asset\"")
    message(FATAL_ERROR "${file}: ')text_asset\"' must not stand in it")
  endif()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[// Written by src/cmake/TextAsset.cmake from @file@.
#include "@header@"

namespace oomdoctor {

std::string_view @function@() {
  return R"text_asset(@text@)text_asset";
}

}  // namespace oomdoctor
]])
endfunction()
