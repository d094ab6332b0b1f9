#include "launch/library/libtorch.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"
#include "base/installation.h"
#include "base/paths.h"
#include "launch/library/version.h"

namespace ddp::launch {
namespace {

bool holds_libtorch(const std::filesystem::path& folder) {
  std::error_code unreadable;
  return std::filesystem::exists(folder / "torch/lib/libtorch_cpu.so", unreadable);
}

// The C++ interface of LibTorch differs between versions: another version would fail later, or compute other values.
void require_version(const std::filesystem::path& folder) {
  std::ifstream stream(folder / "torch/version.py");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::string right = std::string("__version__ = '") + kLibTorchVersion;
  const std::size_t at = text.find(right);
  const char next = at == std::string::npos ? '.' : text.c_str()[at + right.size()];
  if (next == '\'' || next == '+') return;
  throw usage_error(std::string("is not torch ") + kLibTorchVersion + ", the only version that this program runs with",
                    (folder / "torch").string(), kLibTorchRemedy);
}

}  // namespace

const char* const kLibTorchRemedy =
    "install torch 2.11.0 beside ddp-exp (pip install torch==2.11.0), or set DDP_LIBTORCH to a folder that holds "
    "torch/ and nvidia/ of it";

std::filesystem::path libtorch_folder() {
  if (const char* given = std::getenv("DDP_LIBTORCH"); given != nullptr && *given != '\0') {
    const std::filesystem::path folder = paths::absolute(given);
    if (!holds_libtorch(folder)) {
      throw usage_error("holds no torch/lib/libtorch_cpu.so", "DDP_LIBTORCH=" + folder.string(), kLibTorchRemedy);
    }
    require_version(folder);
    return folder;
  }
  if (in_checkout()) return {};
  for (const auto& folder :
       {program_folder().parent_path(), cache_folder() / (std::string("libtorch-") + kLibTorchVersion)}) {
    if (!holds_libtorch(folder)) continue;
    require_version(folder);
    return folder;
  }
  return {};
}

}  // namespace ddp::launch
