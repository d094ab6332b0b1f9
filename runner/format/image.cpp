#include "format/image.h"

#include "base/installation.h"
#include "format/image_entry.h"

namespace ddp::format {

std::unique_ptr<ImageFile> open_image(std::span<const std::byte> bytes, const std::string& name) {
  static const auto open = reinterpret_cast<decltype(&ddp_open_image)>(images_library().entry("ddp_open_image"));
  return std::unique_ptr<ImageFile>(open(&bytes, &name));
}

std::vector<TarMember> list_tar(const std::filesystem::path& file) {
  static const auto list = reinterpret_cast<decltype(&ddp_list_tar)>(images_library().entry("ddp_list_tar"));
  std::vector<TarMember> members;
  list(&file, &members);
  return members;
}

}  // namespace ddp::format
