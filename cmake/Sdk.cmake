# sdk.json: how files of C++ are compiled against this build (launch/plugin/sdk.h). "${torch}" stands for the folder of
# LibTorch, which is found at run time; here it is "torch". Of an installed program, folders are relative to the file.
string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
separate_arguments(flags NATIVE_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
list(APPEND flags -std=c++20 -fPIC -Wall -DUSE_DISTRIBUTED -DUSE_C10D_GLOO)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND flags -Wno-restrict)  # as cmake/Warnings.cmake
endif()
set(includes "")
foreach(floor base config record schedule model format dist checkpoint graph models tokenize datasets data train rank)
  list(APPEND includes "${CMAKE_BINARY_DIR}/floors/${floor}")
endforeach()
list(APPEND includes "\${torch}/torch/include" "\${torch}/torch/include/torch/csrc/api/include")
set(precompile "<torch/nn/cloneable.h>" "<torch/nn/module.h>" "<torch/nn/modules/container/any.h>" "<nlohmann/json.hpp>"
    "\"models/model.h\"" "\"datasets/dataset.h\"")

# ddp_json_list(VARIABLE ITEMS...)
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

ddp_json_list(flags ${flags})
ddp_json_list(includes ${includes})
ddp_json_list(precompile ${precompile})
set(precompiled "")
if(DDP_UNITY)
  set(precompiled "${CMAKE_BINARY_DIR}/CMakeFiles/torch_nn_headers.dir/cmake_pch.hxx")
endif()
file(MAKE_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
file(CONFIGURE OUTPUT "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/sdk.json" @ONLY CONTENT [[{
  "compiler": "@CMAKE_CXX_COMPILER@",
  "compiler_version": "@CMAKE_CXX_COMPILER_VERSION@",
  "flags": @flags@,
  "includes": @includes@,
  "precompile": @precompile@,
  "precompiled": "@precompiled@",
  "torch": "@DDP_LIBTORCH@"
}
]])
