# cmake --install BUILD --prefix PREFIX: a program that may be moved as a whole. Nothing in it names the build tree.
#   PREFIX/bin/ddp-exp          a link to the program
#   PREFIX/lib/ddp-exp/         the program, its libraries and components.json, which it finds beside itself
#   PREFIX/share/ddp-exp/       experiments to start from, and their JSON Schema
# The component "bundle", which scripts/package takes too, adds the system's libraries that not every system has.
# LibTorch and Arrow stay outside (launch/library/libtorch.h and format/table.cpp say where the program looks for them).
set(ddp_parts ddp-exp ddp_core ddp_rank)
if(DDP_WITH_NCCL)
  list(APPEND ddp_parts ddp_nccl)
endif()
if(DDP_ARROW)
  list(APPEND ddp_parts ddp_tables)
endif()
foreach(part ${ddp_parts})
  # RPATH, not RUNPATH: it holds for the libraries that a library needs in turn, and LD_LIBRARY_PATH, which conda and
  # environment modules set, does not come before it.
  target_link_options(${part} PRIVATE -Wl,--disable-new-dtags)
  set_target_properties(${part} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../torch/lib;$ORIGIN/../pyarrow")
endforeach()

install(TARGETS ${ddp_parts} RUNTIME_DEPENDENCY_SET ddp_bundle
  RUNTIME DESTINATION lib/ddp-exp COMPONENT program
  LIBRARY DESTINATION lib/ddp-exp COMPONENT program)
install(FILES "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/components.json" DESTINATION lib/ddp-exp COMPONENT program)
install(FILES "${schema}" DESTINATION share/ddp-exp COMPONENT program)
install(DIRECTORY experiments DESTINATION share/ddp-exp COMPONENT program FILES_MATCHING PATTERN "*.toml")
install(CODE [[
  file(MAKE_DIRECTORY "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin")
  file(CREATE_LINK ../lib/ddp-exp/ddp-exp "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/ddp-exp" SYMBOLIC)
]] COMPONENT program)

# All but libc, the compiler's libraries, and those of torch and Arrow.
install(RUNTIME_DEPENDENCY_SET ddp_bundle
  PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+|gomp)\\.so" "^ld-linux" "^lib(torch|c10|ddp_|cu|nccl|nv|arrow|parquet)"
  LIBRARY DESTINATION lib/ddp-exp COMPONENT bundle
  RUNTIME DESTINATION lib/ddp-exp COMPONENT bundle)
