# oomdoctor_page: the page oomdoctor.html in the folder of the build.
#
# The build also runs this file as a script (cmake -P), which writes the page.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(web ${PROJECT_SOURCE_DIR}/src/web)
  # The program of the page is the library, and the parts of the command line that turn names of files into logs and read
  # the lines beside cited ones.
  add_executable(oomdoctor_engine
    src/web/engine.cc src/cli/archive_logs.cc src/cli/ci_system.cc src/cli/console.cc src/cli/file_kinds.cc src/cli/input_scope.cc
    src/cli/inputs.cc src/cli/log_folder.cc src/cli/neighbours.cc src/cli/suggestion.cc)
  target_link_libraries(oomdoctor_engine PRIVATE oomdoctor_diagnose oomdoctor_fmt)
  oomdoctor_warnings(oomdoctor_engine)
  # One file with the WebAssembly in it, compiled before the worker's part of the page starts. WORKERFS reads the user's
  # files in pieces.
  target_link_options(oomdoctor_engine PRIVATE
    --no-entry --post-js ${web}/worker.js -lworkerfs.js -sENVIRONMENT=worker -sSINGLE_FILE=1 -sWASM_ASYNC_COMPILATION=0 -sFORCE_FILESYSTEM=1
    -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sTOTAL_STACK=4194304 -O2 -sEXPORTED_RUNTIME_METHODS=ccall)
  set_target_properties(oomdoctor_engine PROPERTIES LINK_DEPENDS ${web}/worker.js)

  # The licences of the libraries in it.
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(licences ${PROJECT_SOURCE_DIR}/packaging/make/libraries.py)
  add_custom_command(
    OUTPUT ${PROJECT_BINARY_DIR}/libraries.txt
    COMMAND Python3::Interpreter ${licences} > ${PROJECT_BINARY_DIR}/libraries.txt
    DEPENDS ${licences} ${PROJECT_SOURCE_DIR}/build/sysroot/wasm/packages
    VERBATIM)

  set(page_script ${CMAKE_CURRENT_LIST_FILE})
  add_custom_command(
    OUTPUT ${PROJECT_BINARY_DIR}/oomdoctor.html
    COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR}/src -D ENGINE=$<TARGET_FILE:oomdoctor_engine>
            -D LIBRARIES=${PROJECT_BINARY_DIR}/libraries.txt -D OUTPUT=${PROJECT_BINARY_DIR}/oomdoctor.html -P ${page_script}
    DEPENDS oomdoctor_engine ${PROJECT_BINARY_DIR}/libraries.txt ${web}/page.html ${web}/page.css ${web}/page.js ${page_script}
            ${PROJECT_SOURCE_DIR}/src/render/page/page.css ${PROJECT_SOURCE_DIR}/src/render/page/page.js
            ${PROJECT_SOURCE_DIR}/src/cmake/PolicyHash.cmake
    COMMENT "Writing the page oomdoctor.html"
    VERBATIM)
  add_custom_target(oomdoctor_page DEPENDS ${PROJECT_BINARY_DIR}/oomdoctor.html)
  return()
endif()

include(${SOURCE}/cmake/PolicyHash.cmake)

# Reads a file that stands in an element of the page, which it must not end.
function(read_part path result)
  file(READ ${path} text)
  string(TOLOWER "${text}" lower)
  foreach(end IN ITEMS "</script" "</style" "<!--")
    string(FIND "${lower}" "${end}" found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "${path}: '${end}' must not stand in a file of the page")
    endif()
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

read_part(${SOURCE}/web/page.css style)
read_part(${SOURCE}/web/page.js script)
read_part(${SOURCE}/render/page/page.css report_style)
read_part(${SOURCE}/render/page/page.js report_script)
foreach(part IN ITEMS style script report_style report_script)
  policy_hash("${${part}}" ${part}_hash)
endforeach()
# The frame and the worker inherit the policy, so it names the report's script and style sheet, too, and the pictures that
# the report's script draws of a chart (blob:). No source of connections or fonts: the page cannot send anything.
string(CONCAT policy "default-src 'none'; script-src '${script_hash}' '${report_script_hash}' 'wasm-unsafe-eval'; "
       "style-src '${style_hash}' '${report_style_hash}'; worker-src blob:; frame-src blob:; img-src blob:; base-uri 'none'; form-action 'none'")

# Compressed, the engine takes a third of the space, and the licences a seventh.
function(pack path result)
  execute_process(COMMAND gzip -9n INPUT_FILE ${path} OUTPUT_FILE ${path}.gz COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND base64 -w 0 ${path}.gz OUTPUT_VARIABLE packed COMMAND_ERROR_IS_FATAL ANY)
  set(${result} ${packed} PARENT_SCOPE)
endfunction()
pack(${ENGINE} engine)
pack(${LIBRARIES} libraries)

# The parts go in by their marks, the large ones last: they are then read only once.
file(READ ${SOURCE}/web/page.html page)
foreach(part IN ITEMS policy style script libraries engine)
  string(REPLACE "@${part}@" "${${part}}" page "${page}")
endforeach()
file(WRITE ${OUTPUT} "${page}")
