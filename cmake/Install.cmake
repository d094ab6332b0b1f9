# cmake --install BUILD --prefix PREFIX: a relocatable program. Nothing in it names the build tree.
#   PREFIX/bin/ddp-exp          a link to the program
#   PREFIX/lib/ddp-exp/         the program, its libraries, components.json and sdk.json, which it finds beside itself
#   PREFIX/include/ddp-exp/     headers for a user's own components
#   PREFIX/lib/cmake/ddp-exp/   for find_package(ddp-exp)
#   PREFIX/share/ddp-exp/       example experiments, their JSON Schema, and the folder python
#   PREFIX/share/               the manual page, completion for bash, zsh and fish, and the license
# The component "bundle" adds system libraries that not every system has. scripts/setup/package/staging.py uses it.
# LibTorch and Arrow stay outside (launch/library/libtorch.h and base/installation.cpp say where the program looks).
set(ddp_parts ddp-exp ddp_core ddp_rank)
if(DDP_WITH_NCCL)
  list(APPEND ddp_parts ddp_nccl)
endif()
foreach(part ddp_tables ddp_objects ddp_images ddp_serve)
  if(TARGET ${part})
    list(APPEND ddp_parts ${part})
  endif()
endforeach()
foreach(part ${ddp_parts})
  # RPATH, not RUNPATH: it also applies to indirectly needed libraries, and it precedes LD_LIBRARY_PATH, which conda and
  # environment modules set.
  target_link_options(${part} PRIVATE -Wl,--disable-new-dtags)
  set_target_properties(${part} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../torch/lib;$ORIGIN/../pyarrow")
endforeach()

install(TARGETS ${ddp_parts} RUNTIME_DEPENDENCY_SET ddp_bundle
  RUNTIME DESTINATION lib/ddp-exp COMPONENT program
  LIBRARY DESTINATION lib/ddp-exp COMPONENT program)
install(FILES "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/components.json" DESTINATION lib/ddp-exp COMPONENT program)
install(FILES "${schema}" DESTINATION share/ddp-exp COMPONENT program)
install(DIRECTORY experiments DESTINATION share/ddp-exp COMPONENT program FILES_MATCHING PATTERN "*.toml")
install(DIRECTORY python DESTINATION share/ddp-exp COMPONENT program FILES_MATCHING PATTERN "*.py" PATTERN "*.txt")

# The headers, and the flags to compile against them (cmake/Sdk.cmake).
install(FILES "${installed_sdk}" DESTINATION lib/ddp-exp COMPONENT program)
get_target_property(nlohmann nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
list(GET nlohmann 0 nlohmann)
install(CODE "set(DDP_SOURCE \"${CMAKE_SOURCE_DIR}\")\nset(DDP_NLOHMANN \"${nlohmann}\")" COMPONENT program)
install(SCRIPT cmake/InstallHeaders.cmake COMPONENT program)
include(CMakePackageConfigHelpers)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/generated/installed/ddp-exp-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/package/ddp-exp-config.cmake "${CMAKE_BINARY_DIR}/generated/installed/ddp-exp-config-version.cmake"
  DESTINATION lib/cmake/ddp-exp COMPONENT program)

# The manual page and the completion scripts, in the places where man and the shells look; the license.
install(FILES "${manual}" DESTINATION share/man/man1 COMPONENT program)
install(FILES LICENSE DESTINATION share/doc/ddp-exp COMPONENT program)
set(program ddp-exp)
foreach(shell_and_place bash:bash-completion/completions/ddp-exp zsh:zsh/site-functions/_ddp-exp
        fish:fish/vendor_completions.d/ddp-exp.fish)
  string(REGEX MATCH "^(.*):(.*)/(.*)$" matched "${shell_and_place}")
  set(script "${CMAKE_BINARY_DIR}/generated/installed/${CMAKE_MATCH_1}")
  configure_file("runner/completion/shells/${CMAKE_MATCH_1}" "${script}" @ONLY)
  install(FILES "${script}" DESTINATION "share/${CMAKE_MATCH_2}" RENAME "${CMAKE_MATCH_3}" COMPONENT program)
endforeach()

install(CODE [[
  file(MAKE_DIRECTORY "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin")
  file(CREATE_LINK ../lib/ddp-exp/ddp-exp "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/ddp-exp" SYMBOLIC)
]] COMPONENT program)

# All libraries except libc, the compiler's runtime libraries, torch and Arrow.
install(RUNTIME_DEPENDENCY_SET ddp_bundle
  PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+|gomp)\\.so" "^ld-linux" "^lib(torch|c10|ddp_|cu|nccl|nv|arrow|parquet)"
  LIBRARY DESTINATION lib/ddp-exp COMPONENT bundle
  RUNTIME DESTINATION lib/ddp-exp COMPONENT bundle)
