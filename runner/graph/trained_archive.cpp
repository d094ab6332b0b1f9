#include "graph/trained_archive.h"

#include <map>
#include <set>
#include <string>

#include <ATen/core/grad_mode.h>
#include <caffe2/serialize/inline_container.h>

#include "base/error.h"
#include "format/array.h"
#include "graph/archive.h"
#include "graph/program.h"
#include "graph/resolve.h"
#include "model/weights.h"

namespace ddp::graph {
namespace {

// Replaces the weights of an archive. Throws ddp::Error (usage) if they do not fit: the file was written again.
void replace_weights(const NamedTensors& trained, const Program& program, Weights& weights) {
  NamedTensors own;
  for (const Program::Bound& bound : program.bound) {
    if (bound.role != Program::Bound::Role::constant) own.emplace_back(bound.name, weights.tensors.at(bound.name));
  }
  if (const std::string what = model::misfit(trained, own); !what.empty()) {
    throw usage_error("the run's weights do not fit it: the checkpoint " + what, program.file,
                      "put the archive back that the run was trained with");
  }
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : trained) weights.tensors.at(name).copy_(tensor);
}

// Refuses a graph that still draws random numbers, with the line of the user's Python code.
std::string evaluating_graph(const Archive& archive, const Program& program, const Weights& weights) {
  resolve(program, {.evaluates = true}, weights.tensors);
  nlohmann::json model = archive.json(member_of_graph(kModel));
  model["graph_module"]["graph"] = graph_of_evaluation(program);
  return model.dump();
}

std::string_view view_of(const at::Tensor& bytes) {
  return {static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes()};
}

caffe2::serialize::PyTorchStreamWriter writer_to(const TakeBytes& take) {
  return caffe2::serialize::PyTorchStreamWriter([&take](const void* bytes, std::size_t size) {
    take({static_cast<const char*>(bytes), size});
    return size;
  });
}

}  // namespace

void write_graph(const std::filesystem::path& file, const TakeBytes& take) try {
  const Archive archive(file);
  nlohmann::json lacking = archive.has(kLacking) ? archive.json(kLacking) : nlohmann::json::object();
  auto writer = writer_to(take);
  for (const auto& [name, member] : archive.members()) {
    if (name == kLacking) continue;
    if (name.starts_with("data/weights/") && !name.ends_with(".json")) {
      lacking[name] = member.size;
    } else {
      const std::string_view bytes = archive.bytes(name);
      writer.writeRecord(name, bytes.data(), bytes.size());
    }
  }
  const std::string text = lacking.dump();
  writer.writeRecord(kLacking, text.data(), text.size());
  writer.writeEndOfFile();
} catch (...) {
  format::throw_refusal(file.string(), kExportAgain);
}

void write_trained_archive(const std::filesystem::path& file, const NamedTensors& trained, bool evaluates,
                           const TakeBytes& take) try {
  const Archive archive(file);
  const Program program = read_program(file, /*may_lack_weights=*/true);
  Weights weights = read_weights(archive, kModel);
  replace_weights(trained, program, weights);
  std::map<std::string, std::string> written;
  if (evaluates) written.emplace(member_of_graph(kModel), evaluating_graph(archive, program, weights));
  std::set<std::string> names;
  for (const auto& [name, member] : archive.members()) names.insert(name);
  for (const auto& [name, bytes] : weights.members) names.insert(name);
  names.erase(kLacking);
  auto writer = writer_to(take);
  for (const std::string& name : names) {
    const auto text = written.find(name);
    const auto tensors = weights.members.find(name);
    const std::string_view bytes = text != written.end()              ? std::string_view(text->second)
                                   : tensors != weights.members.end() ? view_of(tensors->second)
                                                                      : archive.bytes(name);
    writer.writeRecord(name, bytes.data(), bytes.size());
  }
  writer.writeEndOfFile();
} catch (...) {
  format::throw_refusal(file.string(), kExportAgain);
}

}  // namespace ddp::graph
