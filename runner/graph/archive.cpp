#include "graph/archive.h"

#include <zlib.h>
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"

namespace ddp::graph {
namespace {

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

Archive::Archive(const std::filesystem::path& file) try {
  mapped_ = format::map_file(record::InputFile(file), file);
  std::uint64_t rest = mapped_.bytes.size();
  for (format::ZipMember& member : format::zip_members(mapped_.bytes)) {
    const std::size_t folder = member.name.find('/');
    if (folder == std::string::npos) throw std::runtime_error("it is not an archive of torch.export");
    if (member.deflated) throw std::runtime_error("its member " + config::in_quotes(member.name) + " is compressed");
    // Members that share bytes could need more memory than the file's size.
    if (member.size > rest) throw std::runtime_error("its members overlap");
    rest -= member.size;
    std::string name = member.name.substr(folder + 1);
    if (!members_.emplace(std::move(name), std::move(member)).second) {
      throw std::runtime_error("it has two members with the same name");
    }
  }
  if (!has(member_of_graph(kModel))) {
    throw std::runtime_error("it is not an archive of torch.export: it has no member " +
                             config::in_quotes(member_of_graph(kModel)));
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

namespace {

constexpr std::int64_t kStrided = 7;  // of the schema's Layout
constexpr std::size_t kMostExtents = 64;

// The sizes and strides of a stored tensor contain no symbols.
std::vector<std::int64_t> fixed_numbers(const nlohmann::json& list) {
  if (!list.is_array() || list.size() > kMostExtents) throw std::runtime_error("its shape is invalid");
  std::vector<std::int64_t> numbers;
  for (const auto& one : list) numbers.push_back(config::count_member(one, "as_int"));
  return numbers;
}

// The bytes from the beginning of the storage to the end of the last element. Refuses elements that share memory: a
// file of a few bytes could claim any number of them.
std::uint64_t extent_in_bytes(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
                              std::int64_t offset, std::size_t element) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  unsigned __int128 last = static_cast<unsigned __int128>(offset);
  unsigned __int128 elements = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    last += static_cast<unsigned __int128>(sizes[i] - 1) * static_cast<unsigned __int128>(strides[i]);
    elements *= static_cast<unsigned __int128>(sizes[i]);
    if (std::max(last, elements) > INT64_MAX / 16) throw std::runtime_error("it is larger than its file");
  }
  if (elements > last + 1) throw std::runtime_error("its elements share memory; make it contiguous() in the model");
  return static_cast<std::uint64_t>(last + 1) * element;
}

// Reads the tensors of one table of the archive.
class WeightReader {
 public:
  WeightReader(const Archive& archive, std::string folder, Weights& weights)
      : archive_(archive),
        folder_(std::move(folder)),
        lacking_(archive.has(kLacking) ? archive.json(kLacking) : nlohmann::json::object()),
        weights_(weights) {}

  void read(const std::string& table) {
    if (!archive_.has(folder_ + table)) return;
    const nlohmann::json config = archive_.json(folder_ + table);
    for (const auto& [name, entry] : config::member(config, "config").items()) {
      try {
        weights_.tensors.emplace(name, tensor_of(entry));
      } catch (const std::exception& error) {
        throw std::runtime_error("the weight " + config::in_quotes(name) + ": " + error.what());
      }
    }
  }

 private:
  using Place = std::tuple<std::string, std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>,
                           std::int64_t>;  // member, type, sizes, strides, offset

  at::Tensor tensor_of(const nlohmann::json& entry) {
    if (entry.contains("use_pickle") && entry.at("use_pickle") != nlohmann::json(false)) {
      throw std::runtime_error("it is pickled, and pickles are not read");
    }
    const auto& meta = config::member(entry, "tensor_meta");
    if (config::count_member(meta, "layout") != kStrided) throw std::runtime_error("it is not dense");
    const Place place{config::text_member(entry, "path_name"), config::count_member(meta, "dtype"),
                      fixed_numbers(config::member(meta, "sizes")), fixed_numbers(config::member(meta, "strides")),
                      config::count_member(config::member(meta, "storage_offset"), "as_int")};
    at::Tensor& known = tensors_[place];
    if (!known.defined()) known = read_tensor(place);
    if (!known.is_floating_point()) return known;
    const auto& trains = config::member(meta, "requires_grad");
    if (trains.is_boolean() && trains.get<bool>()) known.requires_grad_(true);
    return known;
  }

  at::Tensor read_tensor(const Place& place) {
    const auto& [member, code, sizes, strides, offset] = place;
    if (sizes.size() != strides.size()) throw std::runtime_error("its numbers of strides and sizes differ");
    const c10::ScalarType type = scalar_type(code);
    const c10::Storage& storage = storage_of(member);
    if (extent_in_bytes(sizes, strides, offset, c10::elementSize(type)) > storage.nbytes()) {
      throw std::runtime_error("it is larger than its file");
    }
    return at::empty({0}, type).set_(storage, offset, sizes, strides);
  }

  // Each member is copied once, however many tensors it holds.
  const c10::Storage& storage_of(const std::string& member) {
    at::Tensor& copy = weights_.members[folder_ + member];
    if (!copy.defined() && lacking_.contains(folder_ + member)) {
      copy = at::zeros({config::count_member(lacking_, folder_ + member)}, at::kByte);
    } else if (!copy.defined()) {
      const std::string_view bytes = archive_.bytes(folder_ + member);
      copy = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
      if (!bytes.empty()) std::memcpy(copy.mutable_data_ptr(), bytes.data(), bytes.size());
    }
    return copy.storage();
  }

  const Archive& archive_;
  const std::string folder_;
  const nlohmann::json lacking_;
  Weights& weights_;
  std::map<Place, at::Tensor> tensors_;
};

}  // namespace

c10::ScalarType scalar_type(std::int64_t code) {
  static const std::map<std::int64_t, c10::ScalarType> kTypes{
      {1, c10::kByte}, {2, c10::kChar},  {3, c10::kShort},  {4, c10::kInt},   {5, c10::kLong},
      {6, c10::kHalf}, {7, c10::kFloat}, {8, c10::kDouble}, {12, c10::kBool}, {13, c10::kBFloat16}};
  if (const auto type = kTypes.find(code); type != kTypes.end()) return type->second;
  throw std::runtime_error("it has numbers of a type that is not supported (" + std::to_string(code) +
                           " in the format of torch.export): use float32, bfloat16 or int64 in the model");
}

std::string member_of_graph(const std::string& program) { return "models/" + program + ".json"; }

Weights read_weights(const Archive& archive, const std::string& program) {
  Weights weights;
  WeightReader(archive, "data/weights/", weights).read(program + "_weights_config.json");
  WeightReader(archive, "data/constants/", weights).read(program + "_constants_config.json");
  return weights;
}

}  // namespace ddp::graph
