#include "graph/archive.h"

#include <algorithm>
#include <stdexcept>

#include <zlib.h>

#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"

namespace ddp::graph {
namespace {

// Returns the command that makes an archive of Python source.
std::string export_of(const std::filesystem::path& source) {
  return "write the model's archive, and name that one: python3 python/export_model.py " + source.string() + ":CLASS " +
         std::filesystem::path(source).replace_extension(".pt2").string() +
         " --input SHAPE (CLASS is the model's class; SHAPE is of one sample, such as 3x32x32)";
}

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

Archive::Archive(const std::filesystem::path& file) try {
  if (file.extension() == ".py")
    throw usage_error("is Python source, and no archive of torch.export", file.string(), export_of(file));
  mapped_ = format::map_file(record::InputFile(file), file);
  std::uint64_t rest = mapped_.bytes.size();
  for (format::ZipMember& member : format::zip_members(mapped_.bytes)) {
    const std::size_t folder = member.name.find('/');
    if (folder == std::string::npos) throw std::runtime_error("it is not an archive of torch.export");
    if (member.name.find("/code/__torch__") != std::string::npos) {
      throw std::runtime_error("it is a TorchScript file of torch.jit, not an archive of torch.export");
    }
    if (member.deflated) throw std::runtime_error("its member " + config::in_quotes(member.name) + " is compressed");
    // Members that share bytes could need more memory than the file's size.
    if (member.size > rest) throw std::runtime_error("its members overlap");
    rest -= member.size;
    std::string name = member.name.substr(folder + 1);
    if (!members_.emplace(std::move(name), std::move(member)).second) {
      throw std::runtime_error("it has two members with the same name");
    }
  }
  const auto compiled = members_.lower_bound("data/aotinductor/");
  if (compiled != members_.end() && compiled->first.starts_with("data/aotinductor/") &&
      !members_.contains("models/model.json")) {
    throw std::runtime_error("it is compiled code of AOTInductor, which cannot be trained");
  }
  if (members_.contains("data.pkl") && !members_.contains("models/model.json")) {
    throw std::runtime_error("it is a file of torch.save, whose content only Python can read");
  }
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), error.remedy());
} catch (const std::exception& error) {
  throw usage_error(error.what(), file.string(), kExportAgain);
}

std::string_view Archive::bytes(const std::string& name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) throw std::runtime_error("it has no member " + config::in_quotes(name));
  const format::ZipMember& member = found->second;
  if (checksum(member.packed) != member.crc)
    throw std::runtime_error(config::in_quotes(name) + " is damaged: its checksum differs");
  return member.packed;
}

nlohmann::json Archive::json(const std::string& name) const {
  const std::string_view text = bytes(name);
  try {
    return config::parse_json(text);
  } catch (const std::exception& error) {
    throw std::runtime_error(config::in_quotes(name) + ": " + error.what());
  }
}

}  // namespace ddp::graph
