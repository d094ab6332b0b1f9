#include "target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace ddp::fuzz {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLongestText = 1 << 20;

class Folder {
 public:
  Folder() {
    const fs::path root = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    std::string name = (root / "ddp-fuzz-XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr, "a folder for files can be made");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

}  // namespace

void require(bool kept, std::string_view promise) {
  if (kept) return;
  std::fprintf(stderr, "broken: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

bool is_showable(std::string_view text) {
  return text.size() < kLongestText && std::none_of(text.begin(), text.end(), [](char c) {
           return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
         });
}

const fs::path& scratch_folder() {
  static const Folder folder;
  return folder.path;
}

fs::path scratch_file(const std::string& name, std::string_view content) {
  const fs::path file = scratch_folder() / name;
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
  return file;
}

}  // namespace ddp::fuzz
