#include "format/bytes.h"

#include <sys/stat.h>

#include "base/error.h"
#include "record/file/input_file.h"

namespace ddp::format {
namespace {

// Data are the user's.
template <class Call>
auto as_usage(const Call& call) {
  try {
    return call();
  } catch (const Error& error) {
    throw usage_error(error.summary(), error.where(), error.remedy());
  }
}

class LocalBytes final : public Bytes {
 public:
  explicit LocalBytes(const std::filesystem::path& path) : path_(path), file_(path) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(file_.size()); }

  std::string identity() const override {
    struct stat s {};
    fstat(file_.descriptor(), &s);
    return path_.string() + " " + std::to_string(s.st_size) + " bytes, modified " + std::to_string(s.st_mtim.tv_sec) +
           "." + std::to_string(s.st_mtim.tv_nsec);
  }

  void read(std::int64_t begin, std::int64_t size, void* out) const override {
    as_usage([&] { file_.read(static_cast<std::uint64_t>(begin), out, static_cast<std::size_t>(size)); });
  }

 private:
  const std::filesystem::path path_;
  const record::InputFile file_;
};

}  // namespace

std::shared_ptr<const Bytes> open_local(const std::filesystem::path& path) {
  return as_usage([&] { return std::make_shared<const LocalBytes>(path); });
}

}  // namespace ddp::format
