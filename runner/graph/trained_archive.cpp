#include "graph/trained_archive.h"

#include <map>
#include <string>

#include <ATen/core/grad_mode.h>
#include <caffe2/serialize/inline_container.h>

#include "base/error.h"
#include "config/text/source.h"
#include "format/refusal.h"
#include "graph/archive.h"
#include "graph/program.h"
#include "graph/resolve.h"
#include "graph/weights.h"

namespace ddp::graph {
namespace {

constexpr const char* kGraphMember = "models/model.json";

// Replaces weights of an archive. Throws ddp::Error (usage) if the archive lacks a weight of the run because it was
// rewritten.
class TrainedWeights {
 public:
  TrainedWeights(const std::filesystem::path& file, Weights& weights) : file_(file), weights_(weights) {}

  // Replaces a weight of the archive.
  void set(const std::string& name, const at::Tensor& trained) const {
    const auto found = weights_.tensors.find(name);
    if (found == weights_.tensors.end()) refuse(name, "but the archive lacks it");
    at::Tensor& own = found->second;
    if (own.sizes() != trained.sizes() || own.scalar_type() != trained.scalar_type()) {
      refuse(name, "but its shape or type differs in the archive");
    }
    const at::NoGradGuard no_grad;
    own.copy_(trained);
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& how) const {
    throw usage_error("is not the archive of this run: the run has the weight " + config::in_quotes(name) + ", " + how,
                      file_.string(), "restore the archive that the run began with");
  }

  const std::filesystem::path& file_;
  Weights& weights_;
};

// Refuses a graph that still draws random numbers, with the line of the user's Python code.
std::string evaluating_graph(const Archive& archive, const Program& program, const Weights& weights) {
  resolve(program, {.evaluates = true}, weights.tensors);
  nlohmann::json model = archive.json(kGraphMember);
  model["graph_module"]["graph"] = graph_of_evaluation(program);
  return model.dump();
}

std::string_view view_of(const at::Tensor& bytes) {
  return {static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes()};
}

}  // namespace

void write_trained_archive(const std::filesystem::path& file, const NamedTensors& trained, bool evaluates,
                           const TakeBytes& take) try {
  const Archive archive(file);
  const Program program = read_program(file);
  Weights weights = read_weights(archive);
  const TrainedWeights places(file, weights);
  for (const auto& [name, tensor] : trained) places.set(name, tensor);

  std::map<std::string, std::string> written;
  if (evaluates) written.emplace(kGraphMember, evaluating_graph(archive, program, weights));
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* bytes, std::size_t size) {
    take({static_cast<const char*>(bytes), size});
    return size;
  });
  for (const auto& [name, member] : archive.members()) {
    const auto text = written.find(name);
    const auto tensors = weights.members.find(name);
    const std::string_view bytes = text != written.end()              ? std::string_view(text->second)
                                   : tensors != weights.members.end() ? view_of(tensors->second)
                                                                      : archive.bytes(name);
    writer.writeRecord(name, bytes.data(), bytes.size());
  }
  writer.writeEndOfFile();
} catch (...) {
  format::throw_refusal(file.string());
}

}  // namespace ddp::graph
