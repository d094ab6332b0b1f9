#include "launch/plugin/sdk.h"

#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "base/installation.h"
#include "config/option/option.h"
#include "launch/library/libtorch.h"
#include "record/file/atomic_file.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

constexpr const char* kCompilerRemedy = "install a C++20 compiler (Debian and Ubuntu: package g++), or name one: CXX=…";

// sdk.json.
struct SdkFile {
  std::string compiler;
  std::string compiler_version;
  std::vector<std::string> flags;
  std::vector<std::string> includes;
  std::vector<std::string> precompile;
  std::string precompiled;
  std::string torch;

  void fields(config::Fields& f) {
    f({.name = "compiler"}, compiler);
    f({.name = "compiler_version"}, compiler_version);
    f({.name = "flags"}, flags);
    f({.name = "includes"}, includes);
    f({.name = "precompile"}, precompile);
    f({.name = "precompiled"}, precompiled);
    f({.name = "torch"}, torch);
  }
};

SdkFile read_file(const fs::path& file) try {
  return config::read<SdkFile>(config::Value::parse(record::read_text(file)));
} catch (const config::Value::exception&) {
  throw usage_error("is damaged", file.string(), how_to_mend());
} catch (const Error& error) {
  throw usage_error(error.summary() + ": it tells how to compile the files of `sources`", file.string(), how_to_mend());
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Returns the path of a program: the name itself if it contains a "/", else the first match in PATH; "" if none exists.
std::string file_of(const std::string& program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0 ? program : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (fs::path(folder) / program).string();
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

// A newer compiler of the same name gets another identity.
std::string identity_of(const std::string& file) {
  struct stat s {};
  stat(file.c_str(), &s);
  return file + " " + std::to_string(s.st_size) + " " + std::to_string(s.st_mtim.tv_sec);
}

fs::path include_folder(const std::string& written, const fs::path& sdk, const fs::path& torch) {
  constexpr std::string_view kTorch = "${torch}";
  if (written.starts_with(kTorch)) return torch.string() + written.substr(kTorch.size());
  return (sdk / written).lexically_normal();
}

}  // namespace

std::vector<std::string> Sdk::command() const {
  std::vector<std::string> words = compiler;
  words.insert(words.end(), flags.begin(), flags.end());
  for (const fs::path& folder : includes) {
    words.emplace_back("-isystem");
    words.push_back(folder.string());
  }
  return words;
}

Sdk read_sdk() {
  const fs::path file = program_folder() / "sdk.json";
  const SdkFile written = read_file(file);
  const char* chosen = std::getenv("CXX");
  const bool is_chosen = chosen != nullptr && *chosen != '\0';
  Sdk sdk;
  sdk.compiler = is_chosen ? words_of(chosen) : std::vector{written.compiler};
  std::string compiler = sdk.compiler.empty() ? "" : file_of(sdk.compiler.front());
  if (compiler.empty() && !is_chosen) {
    // The compiler may be in another folder than on the build machine.
    sdk.compiler = {fs::path(written.compiler).filename().string()};
    compiler = file_of(sdk.compiler.front());
    if (compiler.empty()) sdk.compiler = {"g++"};
    if (compiler.empty()) compiler = file_of("g++");
  }
  if (compiler.empty()) {
    throw usage_error("this compiler, which the files of `sources` need, does not exist",
                      is_chosen ? std::string("CXX=") + chosen : written.compiler, kCompilerRemedy);
  }
  sdk.identity = identity_of(compiler);
  sdk.flags = written.flags;
  const fs::path found = libtorch_folder();
  const fs::path torch = found.empty() ? fs::path(written.torch) : found;
  for (const std::string& folder : written.includes) {
    sdk.includes.push_back(include_folder(folder, file.parent_path(), torch));
  }
  sdk.precompile = written.precompile;
  std::error_code none;
  if (sdk.compiler.size() == 1 && compiler == written.compiler && !written.precompiled.empty() &&
      fs::exists(written.precompiled + ".gch", none)) {
    sdk.precompiled = written.precompiled;
  }
  return sdk;
}

}  // namespace ddp::launch
