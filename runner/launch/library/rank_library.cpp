#include "launch/library/rank_library.h"

#include <dlfcn.h>
#include <cstdlib>
#include <filesystem>

#include "base/installation.h"
#include "base/paths.h"
#include "launch/library/libtorch.h"
#include "launch/library/plugin_cache.h"
#include "launch/process/child.h"

namespace ddp::launch {
namespace {

void* load(const std::filesystem::path& file, const std::string& remedy) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library != nullptr) return library;
  const std::string why = dlerror();
  // "map" or "memory" in the text: the file is intact, but the process lacks memory for it. The name of a symbol that
  // another build lacks may have these words too.
  const bool of_other_build = why.find("undefined symbol") != std::string::npos;
  const bool lacks_memory =
      !of_other_build && (why.find("map") != std::string::npos || why.find("memory") != std::string::npos);
  const bool lacks_libtorch = why.find("libtorch_cpu.so: cannot open") != std::string::npos;
  throw usage_error("cannot be loaded: " + why, file.filename().string(),
                    lacks_memory     ? "give it more memory: ulimit -v"
                    : lacks_libtorch ? kLibTorchRemedy
                                     : remedy);
}

// By default a thread of OpenMP that waits for the next operation spins for about 3 ms, and takes the core from other
// processes, or uses up the CPU quota of a container: two runs of two threads on two cores took 20 times as long as
// with this number (about 30 us). It costs nothing on a quiet machine; 1000 spins cost 20 % there, and no spin twice
// the time. libgomp reads the variable when it is loaded. The user's own value stays.
void limit_spinning() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "3000", /*overwrite=*/0);
}

// If a later library needs a library of the same name, the loader reuses the loaded one.
void load_libtorch(bool gpus) {
  const std::filesystem::path folder = libtorch_folder();
  if (folder.empty()) return;
  load(folder / "torch/lib/libtorch_cpu.so", kLibTorchRemedy);
  if (gpus) load(folder / "torch/lib/libtorch_cuda.so", kLibTorchRemedy);
}

// A child's refusal of a request, as it crosses the pipe.
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

void write_answer(int pipe, const char* kind, const config::Value& value) {
  const std::string text = rank::json_line({{kind, value}});
  write_all(pipe, text.data(), text.size(), "pipe");
}

void write_refusal(int pipe, const Error& error) {
  write_answer(pipe, kRefused,
               config::write(Refusal{.what = error.summary(), .where = error.where(), .remedy = error.remedy()}));
}

}  // namespace

RankLibrary::RankLibrary(bool gpus, const config::Plugin& plugin)
    : plugin_(plugin.exists() ? plugin.library() : std::filesystem::path()) {
  paths::working_folder();  // without one, LibTorch's MKL ends the process
  limit_spinning();
  load_libtorch(gpus);
  void* library = load(program_folder() / "libddp_rank.so", how_to_mend());
  void* entry = dlsym(library, "ddp_rank_serve");
  if (entry == nullptr) throw usage_error("belongs to another build: it has no ddp_rank_serve", "libddp_rank.so");
  entry_ = reinterpret_cast<decltype(entry_)>(entry);
  if (gpus) load(program_folder() / "libddp_nccl.so", how_to_mend(true));
}

int RankLibrary::call(rank::Request request) const {
  if (!plugin_.empty()) note_use(plugin_.parent_path());
  request.plugin = plugin_;
  return entry_(&request);
}

config::Value RankLibrary::ask(const std::string& act, const rank::Request& request, std::vector<int> kept) const {
  return reply_in(ask_child(act, std::move(kept), [&](int pipe) { answer(request, pipe); }));
}

void RankLibrary::answer(rank::Request request, int pipe) const {
  request.reply = [&](const config::Value& value) { write_answer(pipe, kReply, value); };
  request.refuse = [&](const Error& error) { write_refusal(pipe, error); };
  call(std::move(request));
}

void RankLibrary::answer_with(const std::function<config::Value()>& ask, int pipe) {
  try {
    write_answer(pipe, kReply, ask());
  } catch (const std::exception& error) {
    write_refusal(pipe, as_error(error));
  }
}

config::Value RankLibrary::reply_in(const std::string& answer) {
  const config::Value said = config::Value::parse(answer);
  if (said.contains(kReply)) return said.at(kReply);
  const auto refusal = config::read<Refusal>(said.at(kRefused));
  throw usage_error(refusal.what, refusal.where, refusal.remedy);
}

}  // namespace ddp::launch
