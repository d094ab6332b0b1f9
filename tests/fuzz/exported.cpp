// An archive of torch.export: read, resolved for training and evaluation, run forward and backward on a small batch,
// and written again.
//
// Bytes that begin with "PK" are the archive itself. Others are the parts of one that is put together here, with right
// checksums, which no mutation would find: its graph, its table of weights, and its weights, between lines of "%%".
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

#include "array_files.h"
#include "base/error.h"
#include "graph/executor.h"
#include "graph/program.h"
#include "graph/resolve.h"
#include "graph/trained_archive.h"
#include "target.h"

namespace {

std::string archive_of(std::string_view parts) {
  constexpr std::string_view kBetween = "\n%%\n";
  ddp::ZipBytes zip;
  int number = 0;
  for (bool more = true; more; ++number) {
    const std::size_t end = parts.find(kBetween);
    const std::string name = number == 0   ? "models/model.json"
                             : number == 1 ? "data/weights/model_weights_config.json"
                                           : "data/weights/weight_" + std::to_string(number - 2);
    zip.add("net/" + name, std::string(parts.substr(0, end)), /*pack=*/false);
    more = end != std::string_view::npos;
    if (more) parts.remove_prefix(end + kBetween.size());
  }
  return zip.bytes();
}

// Returns a batch for the first input; an undefined tensor if a sample is large, which would only take time.
at::Tensor small_batch(const ddp::graph::Program& program) {
  constexpr std::int64_t kMostElements = 4096;
  std::vector<std::int64_t> sizes;
  std::int64_t elements = 1;
  for (const auto& extent : program.inputs.front().sizes) {
    const bool fixed = extent.symbol.empty();
    sizes.push_back(fixed ? extent.size : std::min(std::max<std::int64_t>(extent.least, 3), extent.most));
    if (sizes.back() < 0 || sizes.back() > kMostElements / std::max<std::int64_t>(elements, 1)) return {};
    elements *= sizes.back();
  }
  return at::ones(sizes, program.inputs.front().type);
}

void run(const ddp::graph::Program& program, ddp::graph::CallList list) {
  if (program.inputs.empty()) return;
  at::Tensor batch = small_batch(program);
  if (!batch.defined()) return;
  if (batch.is_floating_point()) batch.requires_grad_();
  ddp::graph::ShapeCheck check(program);
  try {
    const auto outputs = ddp::graph::Executor(std::move(list)).run(check.completed({batch}));
    for (const auto& [name, output] : outputs) {
      if (output.requires_grad() && output.numel() == 1) output.reshape({}).backward();
    }
  } catch (const c10::Error&) {  // an operator's own
  }
}

void read_and_write(const std::filesystem::path& file, std::size_t size) {
  using namespace ddp;
  const graph::Program program = graph::read_program(file);
  std::map<std::string, at::Tensor> tensors;
  NamedTensors weights;
  for (const auto& bound : program.bound) {
    if (tensors.emplace(bound.name, bound.tensor).second) weights.emplace_back(bound.name, bound.tensor);
    fuzz::require(bound.tensor.nbytes() <= size, "a weight takes no more memory than the file has bytes");
  }
  run(program, graph::resolve(program, {}, tensors));
  graph::resolve(program, {.evaluates = true}, tensors);
  std::size_t written = 0;
  graph::write_trained_archive(file, weights, /*evaluates=*/true,
                               [&](std::string_view bytes) { written += bytes.size(); });
  fuzz::require(written > 0, "an archive that is read is written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  const std::string_view given(reinterpret_cast<const char*>(data), size);
  const std::string bytes = given.starts_with("PK") ? std::string(given) : archive_of(given);
  const auto file = fuzz::scratch_file("x.pt2", bytes);
  try {
    read_and_write(file, bytes.size());
  } catch (const Error& error) {
    fuzz::require(fuzz::is_showable(error.what()), "an error is fit for a terminal");
  }
  return 0;
}
