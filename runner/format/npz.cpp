#include "format/npz.h"

#include <algorithm>
#include <stdexcept>

#include <ATen/ops/empty.h>

#include "base/error.h"
#include "base/limits.h"
#include "config/text/source.h"
#include "format/array.h"
#include "format/npy.h"

namespace ddp::format {
namespace {

constexpr std::string_view kNpyEnding = ".npy";

std::string megabytes(std::uint64_t bytes) { return std::to_string((bytes + 999'999) / 1'000'000) + " MB"; }

}  // namespace

NpzFile::NpzFile(const std::filesystem::path& file) try : file_(file.string()) {
  const record::InputFile in(file);
  mapped_ = map_file(in, file);
  for (ZipMember& member : zip_members(mapped_.bytes)) {
    if (!member.name.ends_with(kNpyEnding)) continue;
    const std::string name = member.name.substr(0, member.name.size() - kNpyEnding.size());
    if (!members_.emplace(name, std::move(member)).second) {
      throw std::runtime_error("it has two arrays with the name " + config::in_quotes(name));
    }
  }
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), error.remedy());
} catch (const std::exception& error) {
  throw usage_error(error.what(), file.string(), "give a file that numpy.savez wrote");
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> list;
  for (const auto& [name, member] : members_) list.push_back(name);
  return list;
}

const ZipMember& NpzFile::member(const std::string& name) const {
  const auto found = members_.find(name);
  if (found != members_.end()) return found->second;
  throw no_array(name, names(), file_);
}

std::string NpzFile::shown(const std::string& name) const { return file_ + ": " + config::in_quotes(name); }

bool NpzFile::is_deflated(const std::string& name) const { return member(name).deflated; }

at::Tensor NpzFile::inflated(const std::string& name) const try {
  const ZipMember& packed = member(name);
  // Reads the header first: it must match the size in the archive before that much memory is allocated.
  std::string start(std::min<std::uint64_t>(packed.size, kLargestNpyHeader), '\0');
  inflate_member(packed, start.data(), start.size());
  const NpyHeader header = read_npy_header(start, shown(name));
  if (header.begin + header.bytes != packed.size) throw std::runtime_error("its header does not match its size");
  const auto available = static_cast<std::uint64_t>(std::max<std::int64_t>(available_memory(), 0));
  if (packed.size > available) {
    throw usage_error(
        "needs " + megabytes(packed.size) + " decompressed, more than the " + megabytes(available) + " of free memory",
        shown(name), "save it with numpy.savez, which does not compress: it is then read in place");
  }
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(packed.size)}, at::kByte);
  inflate_member(packed, static_cast<char*>(bytes.mutable_data_ptr()), packed.size);
  return bytes;
} catch (...) {
  throw_refusal(shown(name));
}

Array NpzFile::stored(const std::string& name) const {
  return npy_array(member(name).packed, mapped_.memory, shown(name));
}

Array NpzFile::from_inflated(const std::string& name, const at::Tensor& bytes) const {
  const auto size = static_cast<std::size_t>(bytes.numel());
  return npy_array({static_cast<const char*>(bytes.const_data_ptr()), size}, std::make_shared<at::Tensor>(bytes),
                   shown(name));
}

}  // namespace ddp::format
