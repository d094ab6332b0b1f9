# What compiles a component outside this repository: sdk.json beside the program, which the program reads, and which
# find_package(ddp-exp) reads (cmake/package/ddp-exp-config.cmake):
#   compiler, compiler_version   that built the program
#   flags                        of C++20, the ABI and LibTorch's features
#   includes                     folders of headers; relative ones start from the folder of sdk.json, "${torch}" is the
#                                folder that holds torch/
#   precompile                   the headers that are worth compiling once, as #include names them

# ddp_json_list(VARIABLE TEXT...): a JSON array of texts.
function(ddp_json_list variable)
  set(list "")
  foreach(text ${ARGN})
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    list(APPEND list "\"${text}\"")
  endforeach()
  list(JOIN list ", " list)
  set(${variable} "[${list}]" PARENT_SCOPE)
endfunction()

# ddp_write_sdk(FILE INCLUDES...): an sdk.json for headers that lie there.
function(ddp_write_sdk file)
  separate_arguments(own UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(optimisation UNIX_COMMAND "${CMAKE_CXX_FLAGS_${type}}")
  get_target_property(definitions torch_cpu INTERFACE_COMPILE_DEFINITIONS)
  list(TRANSFORM definitions PREPEND -D)
  ddp_json_list(flags "-std=c++${CMAKE_CXX_STANDARD}" -fPIC ${own} ${optimisation} ${definitions})
  ddp_json_list(includes ${ARGN} "\${torch}/torch/include" "\${torch}/torch/include/torch/csrc/api/include")
  ddp_json_list(precompile <torch/nn/module.h> <torch/nn/cloneable.h> <models/model.h> <datasets/dataset.h>)
  ddp_json_list(compiler "${CMAKE_CXX_COMPILER}")
  string(REGEX REPLACE "^.(.*).$" "\\1" compiler "${compiler}")
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [[{
  "compiler": @compiler@,
  "compiler_version": "@CMAKE_CXX_COMPILER_VERSION@",
  "flags": @flags@,
  "includes": @includes@,
  "precompile": @precompile@
}
]])
endfunction()

# The installed one; cmake/InstallHeaders.cmake puts the headers there.
set(installed_sdk "${CMAKE_BINARY_DIR}/generated/installed/sdk.json")
ddp_write_sdk("${installed_sdk}" ../../include/ddp-exp ../../include/ddp-exp/third_party)
