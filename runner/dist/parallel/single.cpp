#include "dist/parallel/parallel.h"
#include "model/call.h"

namespace ddp::dist {
namespace {

// One process that trains the bare model.
class Single : public Parallel {
 public:
  explicit Single(const ParallelParts& parts) : Parallel(parts.module) {}

  void start(const Buckets&) override {}
  NamedTensors forward(const std::vector<at::Tensor>& inputs) override { return model::call(module(), inputs); }
};

const bool single_registered = parallels().add<NoParallelOptions>(
    "single", "one process with one device, or with one model spread over several devices",
    [](const NoParallelOptions&, const ParallelParts& parts) -> std::unique_ptr<Parallel> {
      return std::make_unique<Single>(parts);
    });

}  // namespace
}  // namespace ddp::dist
