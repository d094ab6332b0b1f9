#include "base/installation.h"
#include "format/image.h"
#include "format/table.h"

namespace ddp::format {

std::unique_ptr<ImageFile> open_image(std::span<const std::byte> bytes, const std::string& name) {
  static const auto open = reinterpret_cast<decltype(&ddp_open_image)>(images_library().entry("ddp_open_image"));
  return std::unique_ptr<ImageFile>(open(&bytes, &name));
}

std::vector<TarMember> list_tar(const Bytes& file, const std::string& name) {
  static const auto list = reinterpret_cast<decltype(&ddp_list_tar)>(images_library().entry("ddp_list_tar"));
  std::vector<TarMember> members;
  list(&file, &name, &members);
  return members;
}

std::unique_ptr<TableFile> open_table(const std::filesystem::path& file, const TableOptions& options) {
  static const auto open = reinterpret_cast<decltype(&ddp_open_table)>(tables_library().entry("ddp_open_table"));
  return std::unique_ptr<TableFile>(open(&file, &options));
}

std::unique_ptr<TableWriter> open_table_writer(int descriptor, const std::vector<OutputColumn>& columns,
                                               const std::string& name) {
  static const auto open =
      reinterpret_cast<decltype(&ddp_open_table_writer)>(tables_library().entry("ddp_open_table_writer"));
  return std::unique_ptr<TableWriter>(open(descriptor, &columns, &name));
}

}  // namespace ddp::format
