# Imported targets arrow, parquet and arrow_s3: Arrow C++ in the layout of pyarrow's wheel, which has no CMake files.
#   DDP_ARROW   the folder into which the wheel was unpacked: contains pyarrow/. Empty: no reader of tables is built

set(DDP_ARROW "" CACHE PATH "folder that holds pyarrow/ of the pyarrow 26.0.1 wheel; empty: without readers of tables")
if(NOT DDP_ARROW)
  return()
endif()

set(arrow_root "${DDP_ARROW}/pyarrow")
# The names contain 26.0, because the interface of Arrow C++ differs between versions.
foreach(name arrow parquet arrow_s3)
  set(file "${arrow_root}/lib${name}.so.2600")
  if(NOT EXISTS "${file}")
    message(FATAL_ERROR "No Arrow 26 in ${DDP_ARROW}: run 'scripts/ddp-exp --obtain tables', or pass -DDDP_ARROW=<folder>")
  endif()
  add_library(${name} SHARED IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION "${file}" IMPORTED_SONAME "lib${name}.so.2600")
  target_include_directories(${name} SYSTEM INTERFACE "${arrow_root}/include")
endforeach()
target_link_libraries(parquet INTERFACE arrow)
target_link_libraries(arrow_s3 INTERFACE arrow)
