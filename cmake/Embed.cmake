# ddp_embed(FLOOR FOLDER VARIABLE): embeds the files of a folder into a floor at build time, because the program may
# need no file beside it. The result is `const std::span<const EmbeddedFile> ddp::FLOOR::VARIABLE` (base/embedded.h),
# sorted by file name. This file is also the script for it (cmake -P), with FLOOR, FOLDER, VARIABLE and OUTPUT.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(DDP_EMBED "${CMAKE_CURRENT_LIST_FILE}")
  function(ddp_embed floor folder variable)
    set(output "${CMAKE_BINARY_DIR}/generated/${floor}_${variable}.cpp")
    file(GLOB files CONFIGURE_DEPENDS "${folder}/*")
    add_custom_command(OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" -DFLOOR=${floor} -DFOLDER=${CMAKE_SOURCE_DIR}/${folder} -DVARIABLE=${variable}
              -DOUTPUT=${output} -P "${DDP_EMBED}"
      DEPENDS ${files} "${DDP_EMBED}" VERBATIM)
    target_sources(objects_${floor} PRIVATE "${output}")
  endfunction()
  return()
endif()

file(GLOB files "${FOLDER}/*")
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
