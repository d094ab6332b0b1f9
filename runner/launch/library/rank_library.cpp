#include "launch/library/rank_library.h"

#include <dlfcn.h>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/installation.h"
#include "base/paths.h"
#include "launch/library/libtorch.h"
#include "launch/process/child.h"

namespace ddp::launch {
namespace {

void* load(const std::filesystem::path& file, const std::string& remedy) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library != nullptr) return library;
  const std::string why = dlerror();
  // What cannot be mapped is there, and whole.
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

template <class Function>
Function* find(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) throw usage_error(std::string("is of another build: it has no ") + name, "libddp_rank.so");
  return reinterpret_cast<Function*>(symbol);
}

nlohmann::json to_json(const rank::Probe& p) {
  return {{"error", p.error},
          {"where", p.where},
          {"remedy", p.remedy},
          {"warnings", p.warnings},
          {"parameters", p.parameters},
          {"parameter_bytes", p.parameter_bytes},
          {"buffer_bytes", p.buffer_bytes},
          {"optimizer_bytes", p.optimizer_bytes},
          {"samples", p.samples},
          {"step_seconds", p.step_seconds}};
}

rank::Probe from_json(const nlohmann::json& json) {
  rank::Probe p;
  json.at("error").get_to(p.error);
  json.at("where").get_to(p.where);
  json.at("remedy").get_to(p.remedy);
  json.at("warnings").get_to(p.warnings);
  json.at("parameters").get_to(p.parameters);
  json.at("parameter_bytes").get_to(p.parameter_bytes);
  json.at("buffer_bytes").get_to(p.buffer_bytes);
  json.at("optimizer_bytes").get_to(p.optimizer_bytes);
  json.at("samples").get_to(p.samples);
  json.at("step_seconds").get_to(p.step_seconds);
  return p;
}

}  // namespace

std::filesystem::path weights_of(const config::Loaded& loaded) {
  const std::filesystem::path named = loaded.experiment.init_from;
  if (named.empty()) return {};
  std::error_code unreadable;
  const std::filesystem::path file =
      std::filesystem::is_directory(named, unreadable) ? named / "model.safetensors" : named;
  if (std::filesystem::is_regular_file(file, unreadable)) return file;
  throw loaded.error("init_from", "there are no weights: " + file.string(), "give a checkpoint or a .safetensors file");
}

RankLibrary::RankLibrary(bool gpus) {
  paths::working_folder();  // without one LibTorch's MKL ends the process
  load_libtorch(gpus);
  void* library = load(program_folder() / "libddp_rank.so", how_to_mend());
  train_ = find<std::remove_pointer_t<decltype(train_)>>(library, "ddp_rank_train");
  comm_ = find<std::remove_pointer_t<decltype(comm_)>>(library, "ddp_rank_comm");
  probe_ = find<std::remove_pointer_t<decltype(probe_)>>(library, "ddp_rank_probe");
  if (gpus) load(program_folder() / "libddp_nccl.so", how_to_mend(true));
}

rank::Probe RankLibrary::probe(const Plan& plan, const Start& start, bool timed) const {
  rank::Task task;
  task.timed = timed;
  task.experiment = &plan.experiment;
  task.devices = plan.groups.front();
  task.resume_from = start.resume_from;
  task.init_from = start.init_from;
  const std::string answer = ask_child("trying the model on one batch", [&](int pipe) {
    rank::Probe probe;
    probe_(&task, &probe);
    const std::string json = to_json(probe).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    write_all(pipe, json.data(), json.size(), "pipe");
  });
  return from_json(nlohmann::json::parse(answer));
}

}  // namespace ddp::launch
