#include "launch/library/rank_library.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/installation.h"
#include "base/log.h"
#include "base/paths.h"
#include "launch/library/libtorch.h"
#include "launch/process/child.h"

namespace ddp::launch {
namespace {

void* load(const std::filesystem::path& file, const std::string& remedy) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library != nullptr) return library;
  const std::string why = dlerror();
  // A library that cannot be mapped is whole: the process lacks memory for it.
  const bool lacks_memory = why.find("map") != std::string::npos || why.find("memory") != std::string::npos;
  const bool lacks_libtorch = why.find("libtorch_cpu.so: cannot open") != std::string::npos;
  throw usage_error("cannot be loaded: " + why, file.filename().string(),
                    lacks_memory     ? "give it more memory: ulimit -v"
                    : lacks_libtorch ? kLibTorchRemedy
                                     : remedy);
}

// The loader takes a library that is loaded already for every later library that needs one of its name.
void load_libtorch(bool gpus) {
  const std::filesystem::path folder = libtorch_folder();
  if (folder.empty()) return;
  load(folder / "torch/lib/libtorch_cpu.so", kLibTorchRemedy);
  if (gpus) load(folder / "torch/lib/libtorch_cuda.so", kLibTorchRemedy);
}

// The text of dlerror with the name of a symbol as C++ writes it.
std::string readable(const std::string& why) {
  const std::size_t at = why.find("_Z");
  if (at == std::string::npos) return why;
  const std::size_t end = std::min(why.size(), why.find_first_of(" ,)", at));
  int status = 0;
  char* name = abi::__cxa_demangle(why.substr(at, end - at).c_str(), nullptr, nullptr, &status);
  const std::string text = status == 0 ? why.substr(0, at) + name + why.substr(end) : why;
  std::free(name);
  return text;
}

// The loader passes on no exception: one that a constructor of a plug-in throws ends the process here, with its reason.
[[noreturn]] void end_for_thrown() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    log::error(std::string("it throws while it is loaded: ") + error.what());
    _exit(1);
  } catch (...) {  // of a type that tells nothing
  }
  std::abort();
}

void load_plugin(const std::filesystem::path& file) {
  const std::terminate_handler before = std::set_terminate(end_for_thrown);
  const bool is_loaded = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
  std::set_terminate(before);
  if (!is_loaded) throw usage_error(readable(dlerror()));
}

// Why a child refused a request, as it crosses the pipe.
struct Refusal {
  std::string what;
  std::string where;
  std::string remedy;

  void fields(config::Fields& f) {
    f({.name = "what"}, what);
    f({.name = "where"}, where);
    f({.name = "remedy"}, remedy);
  }
};

constexpr const char* kReply = "reply";
constexpr const char* kRefused = "refused";

}  // namespace

RankLibrary::RankLibrary(bool gpus, const config::Plugin& plugin)
    : plugin_(plugin.exists() ? plugin.library() : std::filesystem::path()) {
  paths::working_folder();  // without one LibTorch's MKL ends the process
  load_libtorch(gpus);
  void* library = load(program_folder() / "libddp_rank.so", how_to_mend());
  void* entry = dlsym(library, "ddp_rank_serve");
  if (entry == nullptr) throw usage_error("is of another build: it has no ddp_rank_serve", "libddp_rank.so");
  entry_ = reinterpret_cast<decltype(entry_)>(entry);
  if (gpus) load(program_folder() / "libddp_nccl.so", how_to_mend(true));
}

int RankLibrary::call(const rank::Request& request) const {
  if (!plugin_.empty()) {
    // The cache removes its oldest plug-ins (launch/plugin/cache_folder.h): this one is in use.
    std::error_code ignored;
    std::filesystem::last_write_time(plugin_.parent_path(), std::filesystem::file_time_type::clock::now(), ignored);
    load_plugin(plugin_);
  }
  return entry_(&request);
}

config::Value RankLibrary::ask(const std::string& act, rank::Request request, std::vector<int> kept) const {
  const std::string answer = ask_child(act, std::move(kept), [&](int pipe) {
    const auto write = [pipe](const char* kind, const config::Value& value) {
      const std::string text =
          config::Value{{kind, value}}.dump(-1, ' ', false, config::Value::error_handler_t::replace);
      write_all(pipe, text.data(), text.size(), "pipe");
    };
    request.reply = [&](const config::Value& value) { write(kReply, value); };
    request.refuse = [&](const Error& error) {
      write(kRefused,
            config::write(Refusal{.what = error.summary(), .where = error.where(), .remedy = error.remedy()}));
    };
    call(request);
  });
  const config::Value said = config::Value::parse(answer);
  if (said.contains(kReply)) return said.at(kReply);
  const auto refusal = config::read<Refusal>(said.at(kRefused));
  throw usage_error(refusal.what, refusal.where, refusal.remedy);
}

}  // namespace ddp::launch
