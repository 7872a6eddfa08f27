# The libraries that are headers alone, in the folder of scripts/web-libraries: their own package files ask for a machine of
# another word size.
set(web_headers ${PROJECT_SOURCE_DIR}/build/sysroot/wasm/include)
if(NOT EXISTS ${web_headers}/boost/regex.hpp)
  message(FATAL_ERROR "run scripts/web, which calls scripts/web-libraries first")
endif()
add_library(oomdoctor_web_headers INTERFACE)
target_include_directories(oomdoctor_web_headers SYSTEM INTERFACE ${web_headers})
foreach(name IN ITEMS Boost::headers Boost::regex Eigen3::Eigen fmt::fmt nlohmann_json::nlohmann_json)
  add_library(${name} ALIAS oomdoctor_web_headers)
endforeach()
