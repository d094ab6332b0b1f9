# ddp_floor(NAME FOLDER LINKS ...): one folder of sources as two targets.
#   floor_NAME     its headers, offered as "NAME/…", and what they need: for floors that build on it
#   objects_NAME   its object files: for the link unit that it belongs to
# Each floor's headers are seen through a folder of their own, so that a file that includes a floor which its
# target does not name does not compile. Object libraries, since from a static archive the linker would drop
# files that only register themselves.
function(ddp_floor name folder)
  cmake_parse_arguments(arg "" "" "LINKS" ${ARGN})
  set(view "${CMAKE_BINARY_DIR}/floors/${name}")
  file(MAKE_DIRECTORY "${view}")
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/${folder}" "${view}/${name}" SYMBOLIC)
  add_library(floor_${name} INTERFACE)
  target_include_directories(floor_${name} INTERFACE "${view}")
  target_link_libraries(floor_${name} INTERFACE ${arg_LINKS})

  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  add_library(objects_${name} OBJECT ${sources})
  target_link_libraries(objects_${name} PRIVATE floor_${name} ddp_warnings)
endfunction()
