# find_package(ddp-exp): compiles a user's own components against an installed ddp-exp.
#   ddp-exp::component                       compile and link flags of a component's file
#   ddp_exp_add_component(NAME SOURCES...)   a library of components; a program that tests them links with it
# DDP_LIBTORCH (a CMake or environment variable) names the folder that contains torch/; without it, LibTorch is the one
# that the program finds.

# The layouts of cmake --install and of pip.
foreach(place ../../ddp-exp ..)
  get_filename_component(ddp_program "${CMAKE_CURRENT_LIST_DIR}/${place}" ABSOLUTE)
  if(EXISTS "${ddp_program}/sdk.json")
    break()
  endif()
endforeach()
file(READ "${ddp_program}/sdk.json" ddp_sdk)

if(NOT DDP_LIBTORCH)
  set(ddp_cache "$ENV{XDG_CACHE_HOME}")
  if(NOT ddp_cache)
    set(ddp_cache "$ENV{HOME}/.cache")
  endif()
  get_filename_component(ddp_beside "${ddp_program}" DIRECTORY)
  foreach(folder "$ENV{DDP_LIBTORCH}" "${ddp_beside}" "${ddp_cache}/ddp-exp/libtorch-2.11.0")
    if(EXISTS "${folder}/torch/lib/libtorch_cpu.so")
      set(DDP_LIBTORCH "${folder}")
      break()
    endif()
  endforeach()
endif()
set(ddp_version "")
if(EXISTS "${DDP_LIBTORCH}/torch/version.py")
  file(STRINGS "${DDP_LIBTORCH}/torch/version.py" ddp_version REGEX "^__version__ = '2\\.11\\.0['+]")
endif()
if(NOT ddp_version)
  set(ddp-exp_FOUND FALSE)
  set(ddp-exp_NOT_FOUND_MESSAGE
      "there is no LibTorch 2.11.0: pass -DDDP_LIBTORCH=<folder that holds torch/ and nvidia/ of the package torch 2.11.0>")
  return()
endif()

# ddp_sdk_list(VARIABLE KEY): the strings of an array of sdk.json.
function(ddp_sdk_list variable key)
  string(JSON count LENGTH "${ddp_sdk}" ${key})
  set(texts "")
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    string(JSON text GET "${ddp_sdk}" ${key} ${index})
    list(APPEND texts "${text}")
  endforeach()
  set(${variable} "${texts}" PARENT_SCOPE)
endfunction()

if(NOT TARGET ddp-exp::component)
  add_library(ddp-exp::component INTERFACE IMPORTED)
  target_compile_features(ddp-exp::component INTERFACE cxx_std_20)
  ddp_sdk_list(ddp_flags flags)
  # A project chooses its own optimisation level and warnings.
  list(FILTER ddp_flags EXCLUDE REGEX "^-(O|W|std=|DNDEBUG)")
  target_compile_options(ddp-exp::component INTERFACE ${ddp_flags})
  ddp_sdk_list(ddp_includes includes)
  foreach(folder ${ddp_includes})
    string(REPLACE "\${torch}" "${DDP_LIBTORCH}" folder "${folder}")
    get_filename_component(folder "${folder}" ABSOLUTE BASE_DIR "${ddp_program}")
    target_include_directories(ddp-exp::component SYSTEM INTERFACE "${folder}")
  endforeach()
  # Components register themselves: a program needs their library even if it uses no symbol of it.
  target_link_options(ddp-exp::component INTERFACE -Wl,--no-as-needed
    "-Wl,-rpath-link,${DDP_LIBTORCH}/nvidia/cu13/lib")
  foreach(library "${ddp_program}/libddp_rank.so" "${ddp_program}/libddp_core.so" "${DDP_LIBTORCH}/torch/lib/libtorch_cpu.so"
          "${DDP_LIBTORCH}/torch/lib/libc10.so")
    target_link_libraries(ddp-exp::component INTERFACE "${library}")
  endforeach()
endif()

function(ddp_exp_add_component name)
  add_library(${name} SHARED ${ARGN})
  target_link_libraries(${name} PUBLIC ddp-exp::component)
  # A missing symbol is an error at link time, not when a run loads the library.
  target_link_options(${name} PRIVATE -Wl,--no-undefined)
endfunction()
