# Imported targets torch_cpu, and torch_cuda if the CUDA headers are found: LibTorch in the layout of its PyPI wheel. Not
# find_package(Torch): with this wheel it requires nvcc, and it fails with CMake 3.25.
#   DDP_LIBTORCH   the folder into which the wheels were unpacked: contains torch/ and nvidia/

if(NOT DDP_LIBTORCH)
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(cache "$ENV{XDG_CACHE_HOME}")
  else()
    set(cache "$ENV{HOME}/.cache")
  endif()
  set(DDP_LIBTORCH "${cache}/ddp-exp/libtorch-2.11.0")
endif()
set(DDP_LIBTORCH "${DDP_LIBTORCH}" CACHE PATH "folder that holds torch/ and nvidia/ of the LibTorch 2.11.0 wheels")

set(torch_root "${DDP_LIBTORCH}/torch")
if(NOT EXISTS "${torch_root}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "No LibTorch in ${DDP_LIBTORCH}: run 'scripts/ddp-exp --setup-only', or pass -DDDP_LIBTORCH=<folder>")
endif()

function(ddp_import_torch name)
  add_library(${name} SHARED IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION "${torch_root}/lib/lib${name}.so")
  target_include_directories(${name} SYSTEM INTERFACE
    "${torch_root}/include" "${torch_root}/include/torch/csrc/api/include")
endfunction()

ddp_import_torch(c10)
ddp_import_torch(torch_cpu)
target_compile_definitions(torch_cpu INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
target_link_libraries(torch_cpu INTERFACE c10)
# libtorch_cpu needs libcudart and libcupti even without a GPU; the wheel finds them by its own RUNPATH.
target_link_options(torch_cpu INTERFACE "-Wl,-rpath-link,${DDP_LIBTORCH}/nvidia/cu13/lib")

# The NCCL side, if wanted: CUDA's headers from the toolkit or the GPU wheels, and nccl.h of the version that torch
# pins.
option(DDP_NCCL "build the NCCL backend if CUDA's headers are found" ON)
find_path(DDP_CUDA_INCLUDE cuda_runtime_api.h
  PATHS "${DDP_LIBTORCH}/nvidia/cu13/include" $ENV{CUDA_HOME}/include /usr/local/cuda/include NO_DEFAULT_PATH)
find_path(DDP_NCCL_INCLUDE nccl.h
  PATHS "${DDP_LIBTORCH}/nvidia/nccl/include" $ENV{CUDA_HOME}/include /usr/local/cuda/include /usr/local/include /usr/include
  NO_DEFAULT_PATH)
find_path(DDP_CUDA_CRT crt/host_defines.h
  PATHS "${DDP_CUDA_INCLUDE}" $ENV{CUDA_HOME}/include /usr/local/cuda/include NO_DEFAULT_PATH)
if(DDP_NCCL AND DDP_CUDA_INCLUDE AND DDP_NCCL_INCLUDE AND DDP_CUDA_CRT)
  set(DDP_WITH_NCCL TRUE)
  ddp_import_torch(c10_cuda)
  ddp_import_torch(torch_cuda)
  target_compile_definitions(torch_cuda INTERFACE USE_C10D_NCCL)
  target_include_directories(torch_cuda SYSTEM INTERFACE
    "${DDP_CUDA_INCLUDE}" "${DDP_NCCL_INCLUDE}" "${DDP_CUDA_CRT}")
  target_link_libraries(torch_cuda INTERFACE torch_cpu c10_cuda)
else()
  set(DDP_WITH_NCCL FALSE)
endif()
