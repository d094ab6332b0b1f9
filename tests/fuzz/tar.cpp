// A tar archive: every listed member lies inside it.
#include <cstring>
#include <utility>

#include "base/error.h"
#include "format/image.h"
#include "target.h"

namespace {

class Archive final : public ddp::format::Bytes {
 public:
  explicit Archive(std::string bytes) : bytes_(std::move(bytes)) {}
  std::int64_t size() const override { return std::ssize(bytes_); }
  std::string identity() const override { return ""; }
  void read(std::int64_t begin, std::int64_t size, void* out) const override {
    ddp::fuzz::require(begin >= 0 && size >= 0 && begin + size <= std::ssize(bytes_), "a read lies within the archive");
    std::memcpy(out, bytes_.data() + begin, static_cast<std::size_t>(size));
  }

 private:
  const std::string bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  const Archive archive({reinterpret_cast<const char*>(data), size});
  const std::string name = "images.tar";
  const auto bytes = static_cast<std::int64_t>(size);
  try {
    std::vector<format::TarMember> members;
    ddp_list_tar(&archive, &name, &members);
    for (const format::TarMember& member : members) {
      fuzz::require(
          member.offset >= 0 && member.size >= 0 && member.offset <= bytes && member.size <= bytes - member.offset,
          "a member lies within the archive");
    }
  } catch (const Error& error) {
    fuzz::require(fuzz::is_showable(error.what()), "an error can be shown");
  }
  return 0;
}
