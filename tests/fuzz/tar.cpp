// A tar archive: every listed member lies inside it.
#include "base/error.h"
#include "format/image.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  const auto path = fuzz::scratch_file("images.tar", {reinterpret_cast<const char*>(data), size});
  const std::string name = path.string();
  const auto bytes = static_cast<std::int64_t>(size);
  try {
    std::vector<format::TarMember> members;
    ddp_list_tar(format::open_local(path).get(), &name, &members);
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
