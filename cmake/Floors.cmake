# ddp_floor(NAME FOLDER [GROUPS n] [TORCH_NN] LINKS ...): a folder of sources and its subfolders, as two targets.
#   floor_NAME     its headers, as "NAME/…", and their dependencies: for floors that build on it
#   objects_NAME   its object files: for the link unit that contains it
# Each floor's headers are visible through a folder of their own: a file that includes a floor which its target does not
# name does not compile. The objects are object libraries, because the linker drops files of a static archive that only
# register themselves.
#
# Compilation spends most of its time on reading headers. Therefore:
#   - The files of a floor are compiled together, as one file or as GROUPS files. A file's group depends on its name
#     alone: a new file changes one group.
#   - A floor marked TORCH_NN uses the precompiled header of torch::nn (torch_nn_headers).
# Names in anonymous namespaces must therefore differ within a floor. With DDP_UNITY=OFF each file is compiled alone and
# without the precompiled header, so a missing include is an error (scripts/soak includes).
option(DDP_UNITY "compile the files of a folder together, with precompiled headers" ON)

function(ddp_floor name folder)
  cmake_parse_arguments(arg "TORCH_NN" "GROUPS" "LINKS" ${ARGN})
  set(view "${CMAKE_BINARY_DIR}/floors/${name}")
  file(MAKE_DIRECTORY "${view}")
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/${folder}" "${view}/${name}" SYMBOLIC)
  add_library(floor_${name} INTERFACE)
  target_include_directories(floor_${name} INTERFACE "${view}")
  target_link_libraries(floor_${name} INTERFACE ${arg_LINKS})

  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp" "${folder}/*/*.cpp")
  add_library(objects_${name} OBJECT ${sources})
  target_link_libraries(objects_${name} PRIVATE floor_${name} ddp_warnings)
  ddp_compile_together(objects_${name} "${arg_GROUPS}" ${sources})
  if(arg_TORCH_NN)
    ddp_use_torch_nn_headers(objects_${name})
  endif()
endfunction()

# ddp_compile_together(TARGET GROUPS SOURCES...)
function(ddp_compile_together target groups)
  if(NOT DDP_UNITY)
    return()
  endif()
  if(NOT groups)
    set(groups 1)
  endif()
  foreach(source ${ARGN})
    get_filename_component(name "${source}" NAME)
    string(MD5 hash "${name}")
    string(SUBSTRING "${hash}" 0 6 hash)
    math(EXPR group "0x${hash} % ${groups}")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "group_${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# ddp_optimise(TARGET): loops over large memory, which gain from the highest optimisation level. A floor with the
# precompiled header gets it by a pragma, because GCC accepts the header at its own level only.
function(ddp_optimise target)
  get_target_property(precompiled ${target} PRECOMPILE_HEADERS_REUSE_FROM)
  if(precompiled AND CMAKE_BUILD_TYPE STREQUAL "Release")
    set_target_properties(${target} PROPERTIES
      UNITY_BUILD_CODE_BEFORE_INCLUDE "#pragma GCC push_options\n#pragma GCC optimize(\"O3\")"
      UNITY_BUILD_CODE_AFTER_INCLUDE "#pragma GCC pop_options")
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
endfunction()

# ddp_optional_library(NAME WANTED LIBRARIES...): libddp_NAME.so, from the floor runner/NAME, if WANTED is set. It sees
# the headers of the floor "format", and no torch.
function(ddp_optional_library name wanted)
  if(NOT wanted)
    # An earlier build may have left a library from other sources.
    file(REMOVE "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libddp_${name}.so")
    return()
  endif()
  ddp_floor(${name} runner/${name} LINKS floor_config floor_base ${ARGN})
  target_include_directories(floor_${name} INTERFACE "${CMAKE_BINARY_DIR}/floors/format")
  ddp_optimise(objects_${name})
  add_library(ddp_${name} SHARED)
  target_link_libraries(ddp_${name} PRIVATE objects_${name} ddp_core Threads::Threads)
  target_link_options(ddp_${name} PRIVATE -Wl,--exclude-libs,ALL)
endfunction()
