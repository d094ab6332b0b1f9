# The system's libraries that decode images and list tar archives, as ddp_image_libraries for floor_images.
#   DDP_IMAGES   ON: libddp_images.so is built

option(DDP_IMAGES "build the decoder of images and reader of tar archives" OFF)
if(NOT DDP_IMAGES)
  return()
endif()

pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(ARCHIVE REQUIRED IMPORTED_TARGET libarchive)

# The shared libarchive brings its compression libraries and 34 MB of ICU into each package of ddp-exp; from the static
# library only the reader of tar is linked. Not every system has the static library, or has it as position-independent
# code.
find_library(DDP_ARCHIVE_STATIC libarchive.a)
mark_as_advanced(DDP_ARCHIVE_STATIC)
set(archive PkgConfig::ARCHIVE)
if(DDP_ARCHIVE_STATIC)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES ${ARCHIVE_INCLUDE_DIRS})
  set(CMAKE_REQUIRED_FLAGS "-fPIC")
  set(CMAKE_REQUIRED_LINK_OPTIONS -shared -Wl,-z,defs)
  set(CMAKE_REQUIRED_LIBRARIES "${DDP_ARCHIVE_STATIC}")
  check_cxx_source_compiles("
    #include <archive.h>
    #include <archive_entry.h>
    int count(const char* file) {
      archive* tar = archive_read_new();
      archive_read_support_format_tar(tar);
      archive_read_open_filename(tar, file, 10240);
      archive_entry* member = nullptr;
      const int found = archive_read_next_header(tar, &member);
      return archive_read_free(tar) + found + archive_entry_sparse_count(member);
    }" DDP_ARCHIVE_STATIC_LINKS)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(DDP_ARCHIVE_STATIC_LINKS)
    set(archive "${DDP_ARCHIVE_STATIC}")
  endif()
endif()
set(ddp_image_libraries PkgConfig::JPEG PkgConfig::PNG PkgConfig::DEFLATE PkgConfig::WEBP "${archive}")
