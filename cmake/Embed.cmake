# ddp_embed(FLOOR FILES VARIABLE): embeds the files of a pattern into a floor at build time, because the program may
# need no file beside it. The result is `const std::span<const EmbeddedFile> ddp::FLOOR::VARIABLE` (base/embedded.h),
# sorted by file name. This file is also the script for it (cmake -P), with FLOOR, FILES, VARIABLE and OUTPUT.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(DDP_EMBED "${CMAKE_CURRENT_LIST_FILE}")
  function(ddp_embed floor pattern variable)
    set(output "${CMAKE_BINARY_DIR}/generated/${floor}_${variable}.cpp")
    file(GLOB files CONFIGURE_DEPENDS "${pattern}")
    add_custom_command(OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" -DFLOOR=${floor} "-DFILES=${CMAKE_SOURCE_DIR}/${pattern}" -DVARIABLE=${variable}
              -DOUTPUT=${output} -P "${DDP_EMBED}"
      DEPENDS ${files} "${DDP_EMBED}" VERBATIM)
    target_sources(objects_${floor} PRIVATE "${output}")
  endfunction()
  return()
endif()

file(GLOB files "${FILES}")
list(SORT files)
set(entries "")
foreach(file ${files})
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" text)
  string(APPEND entries "    {\"${name}\", R\"ddp_file(${text})ddp_file\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"base/embedded.h\"

namespace ddp::${FLOOR} {

extern const std::span<const EmbeddedFile> ${VARIABLE};

static constexpr EmbeddedFile kFiles[] = {
${entries}};

const std::span<const EmbeddedFile> ${VARIABLE}(kFiles);

}  // namespace ddp::${FLOOR}
")
