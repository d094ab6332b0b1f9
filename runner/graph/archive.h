#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "format/mapped_file.h"
#include "format/zip.h"

namespace ddp::graph {

// A file that torch.export.save wrote (torch/export/pt2_archive): a zip archive of stored members in one folder. It is
// data from outside. Nothing of it is executed or unpickled, and nothing is unpacked: memory stays within its size.
class Archive {
 public:
  // Throws ddp::Error (usage) where the file cannot be read, or is no such archive.
  explicit Archive(const std::filesystem::path& file);

  bool has(const std::string& member) const { return members_.contains(member); }
  const std::map<std::string, format::ZipMember>& members() const { return members_; }
  // The bytes of a member, whose checksum is right. The name is without the folder. Throws std::runtime_error where the
  // member is missing or damaged.
  std::string_view bytes(const std::string& member) const;
  nlohmann::json json(const std::string& member) const;

 private:
  format::MappedFile mapped_;
  std::map<std::string, format::ZipMember> members_;
};

}  // namespace ddp::graph
