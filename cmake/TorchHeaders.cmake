# torch_nn_headers: the headers that every file with a torch::nn module includes, compiled once. Reading them takes
# longer than compiling such a file's own code.
if(DDP_UNITY)
  set(headers <torch/nn/cloneable.h> <torch/nn/module.h> <torch/nn/modules/container/any.h> <nlohmann/json.hpp>)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/torch_nn_headers.cpp" CONTENT "")
  add_library(torch_nn_headers OBJECT "${CMAKE_BINARY_DIR}/generated/torch_nn_headers.cpp")
  target_link_libraries(torch_nn_headers PRIVATE torch_cpu ddp_warnings)
  target_precompile_headers(torch_nn_headers PRIVATE ${headers})
  # Half a gigabyte is not worth a place in ccache; the files that use it are. ccache identifies a precompiled header by
  # this sum, because two compilations of the same headers differ.
  set_target_properties(torch_nn_headers PROPERTIES CXX_COMPILER_LAUNCHER "")
  string(SHA256 sum "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${CMAKE_BUILD_TYPE} \
${CMAKE_CXX_FLAGS_RELEASE} ${headers} ${torch_root}")
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/CMakeFiles/torch_nn_headers.dir/cmake_pch.hxx.gch.sum" CONTENT "${sum}\n")
endif()

function(ddp_use_torch_nn_headers target)
  if(DDP_UNITY)
    target_precompile_headers(${target} REUSE_FROM torch_nn_headers)
  endif()
endfunction()
