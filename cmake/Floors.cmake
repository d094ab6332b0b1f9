# ddp_floor(NAME FOLDER LINKS ...): the sources of one folder as the target floor_NAME.
#
# Each floor offers its headers as "NAME/…" through a folder of its own, so that a file that includes a
# floor which its target does not link does not compile. Object libraries: from a static archive the linker
# would drop files that only register themselves.
function(ddp_floor name folder)
  cmake_parse_arguments(arg "" "" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  if(sources)
    add_library(floor_${name} OBJECT ${sources})
    set(scope PUBLIC)
    target_link_libraries(floor_${name} PRIVATE ddp_warnings)
  else()
    add_library(floor_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  set(view "${CMAKE_BINARY_DIR}/floors/${name}")
  file(MAKE_DIRECTORY "${view}")
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/${folder}" "${view}/${name}" SYMBOLIC)
  target_include_directories(floor_${name} ${scope} "${view}")
  target_link_libraries(floor_${name} ${scope} ${arg_LINKS})
endfunction()
