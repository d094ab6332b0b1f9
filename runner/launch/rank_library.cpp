#include "launch/rank_library.h"

#include <dlfcn.h>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "launch/child.h"

namespace ddp::launch {
namespace {

void* load(const std::string& name, const std::string& remedy) {
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  void* library = dlopen(beside.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library != nullptr) return library;
  const std::string why = dlerror();
  // What cannot be mapped is there, and whole.
  const bool lacks_memory = why.find("map") != std::string::npos || why.find("memory") != std::string::npos;
  throw usage_error("cannot be loaded: " + why, name, lacks_memory ? "give it more memory: ulimit -v" : remedy);
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
  void* library = load("libddp_rank.so", "build it again: scripts/ddp-exp --setup-only");
  train_ = find<std::remove_pointer_t<decltype(train_)>>(library, "ddp_rank_train");
  comm_ = find<std::remove_pointer_t<decltype(comm_)>>(library, "ddp_rank_comm");
  probe_ = find<std::remove_pointer_t<decltype(probe_)>>(library, "ddp_rank_probe");
  if (gpus) load("libddp_nccl.so", "fetch the GPU libraries and build it: scripts/ddp-exp --cuda --setup-only");
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
