# sdk.json, beside the program, describes how to compile a component's file against the program. The program reads it for
# `sources` (launch/library/compile.h); so does find_package(ddp-exp) (cmake/package/ddp-exp-config.cmake).
#   compiler, compiler_version   the compiler of the program
#   flags                        for C++20, the ABI and LibTorch's features
#   includes                     folders of headers; relative ones start at the folder of sdk.json, "${torch}" is the
#                                folder that contains torch/, found at run time
#   precompile                   headers worth precompiling, as #include names them
#   precompiled                  a header that the build has precompiled; empty: none
#   torch                        value of ${torch} if none is found at run time: the build's; empty: none

# ddp_json_list(VARIABLE TEXT...): a JSON array of strings.
function(ddp_json_list variable)
  set(items "")
  foreach(item ${ARGN})
    string(REPLACE "\\" "\\\\" item "${item}")
    string(REPLACE "\"" "\\\"" item "${item}")
    list(APPEND items "\"${item}\"")
  endforeach()
  list(JOIN items ", " items)
  set(${variable} "[${items}]" PARENT_SCOPE)
endfunction()

# ddp_write_sdk(FILE PRECOMPILED TORCH INCLUDES...): writes sdk.json; our headers are in the folders INCLUDES.
function(ddp_write_sdk file precompiled torch)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags NATIVE_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  list(APPEND flags -std=c++20 -fPIC -Wall -DUSE_DISTRIBUTED -DUSE_C10D_GLOO)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND flags -Wno-restrict)  # as cmake/Warnings.cmake
  endif()
  ddp_json_list(flags ${flags})
  ddp_json_list(includes ${ARGN} "\${torch}/torch/include" "\${torch}/torch/include/torch/csrc/api/include")
  ddp_json_list(precompile "<torch/nn/cloneable.h>" "<torch/nn/module.h>" "<torch/nn/modules/container/any.h>"
                "<nlohmann/json.hpp>" "\"models/model.h\"" "\"datasets/dataset.h\"")
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [[{
  "compiler": "@CMAKE_CXX_COMPILER@",
  "compiler_version": "@CMAKE_CXX_COMPILER_VERSION@",
  "flags": @flags@,
  "includes": @includes@,
  "precompile": @precompile@,
  "precompiled": "@precompiled@",
  "torch": "@torch@"
}
]])
endfunction()

# The build's own: headers stay in the source tree. It names only floors from which cmake/InstallHeaders.cmake installs
# headers.
set(floors "")
foreach(floor base config record schedule model format dist checkpoint models tokenize datasets train)
  list(APPEND floors "${CMAKE_BINARY_DIR}/floors/${floor}")
endforeach()
set(precompiled "")
if(DDP_UNITY)
  set(precompiled "${CMAKE_BINARY_DIR}/CMakeFiles/torch_nn_headers.dir/cmake_pch.hxx")
endif()
ddp_write_sdk("${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/sdk.json" "${precompiled}" "${DDP_LIBTORCH}" ${floors})

# The installed, relocatable one: cmake/InstallHeaders.cmake puts the headers there.
set(installed_sdk "${CMAKE_BINARY_DIR}/generated/installed/sdk.json")
ddp_write_sdk("${installed_sdk}" "" "" ../../include/ddp-exp ../../include/ddp-exp/third_party)
