# oomdoctor_node: the program as WebAssembly for Node.js, in the folder node/ of the build. The package for npm has it for systems
# that have no program of their own.
file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.cc)
# What starts or watches processes. web/needs_linux.cc refuses these commands, web/captured_run.cc does without.
foreach(name IN ITEMS captured_run end_signals file_changes hook job_process judgement line_sink run watch watch_options)
  list(REMOVE_ITEM cli_sources ${PROJECT_SOURCE_DIR}/src/cli/${name}.cc)
endforeach()
oomdoctor_text_asset(src/cli/published_models.toml published_models_text cli/published_models.h
                     ${generated}/published_models.cc)
add_executable(oomdoctor_node ${cli_sources} src/web/captured_run.cc src/web/needs_linux.cc ${generated}/published_models.cc)
target_link_libraries(oomdoctor_node PRIVATE oomdoctor_diagnose oomdoctor_mcp oomdoctor_fmt nlohmann_json::nlohmann_json
                                             ${PROJECT_SOURCE_DIR}/build/sysroot/wasm/lib/libboost_program_options.a)
oomdoctor_warnings(oomdoctor_node)
set(node_system ${PROJECT_SOURCE_DIR}/src/web/node_system.js)
target_link_options(oomdoctor_node PRIVATE
  --js-library ${node_system} -sENVIRONMENT=node -sWASM_ASYNC_COMPILATION=0 -sFILESYSTEM=0
  -sEXIT_RUNTIME=1 -sNODEJS_CATCH_EXIT=0 -sNODEJS_CATCH_REJECTION=0 -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB
  -sTOTAL_STACK=4194304 -O2)
set_target_properties(oomdoctor_node PROPERTIES
  OUTPUT_NAME oomdoctor RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/node LINK_DEPENDS ${node_system})
