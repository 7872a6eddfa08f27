# A program for packages: one file that runs on every Linux of its architecture, the same bytes from every folder.
#
# oomdoctor_static_programs(): compiles every target without the folders of the build, and links every program with
# archives alone, to a file that can still be placed anywhere in memory (static-pie).
# oomdoctor_packaged(TARGET): leaves the symbols out of TARGET. The linker's map beside it shows what is inside.
macro(oomdoctor_static_programs)
  check_linker_flag(CXX -static-pie OOMDOCTOR_HAS_STATIC_PIE)
  if(OOMDOCTOR_HAS_STATIC_PIE)
    set(CMAKE_CXX_LINK_OPTIONS_PIE -static-pie)  # in place of -pie, which would win
  else()
    set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
    add_link_options(-static)
  endif()
  # The last option that fits a path wins, and the build's folder usually lies in the other one.
  add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
  # Half a megabyte less than a list with 24 bytes for each pointer.
  check_linker_flag(CXX -Wl,-z,pack-relative-relocs OOMDOCTOR_HAS_PACKED_RELOCATIONS)
  if(OOMDOCTOR_HAS_STATIC_PIE AND OOMDOCTOR_HAS_PACKED_RELOCATIONS)
    add_link_options(-Wl,-z,pack-relative-relocs)
  endif()
  add_link_options(-Wl,--build-id=none)  # it is a hash of the file before its symbols are left out
endmacro()

function(oomdoctor_packaged target)
  target_link_options(${target} PRIVATE -s -Wl,-Map=$<TARGET_FILE:${target}>.map)
endfunction()
