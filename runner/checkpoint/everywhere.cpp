#include "checkpoint/everywhere.h"

#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>

namespace ddp::checkpoint {
namespace {

using Json = nlohmann::json;

Json describe(const NamedTensors& tensors) {
  Json list = Json::array();
  for (const auto& [name, tensor] : tensors) {
    list.push_back({name, static_cast<int>(tensor.scalar_type()), tensor.sizes().vec()});
  }
  return list;
}

NamedTensors make(const Json& list) {
  NamedTensors tensors;
  for (const auto& entry : list) {
    const auto sizes = entry.at(2).get<std::vector<std::int64_t>>();
    tensors.emplace_back(entry.at(0), at::empty(sizes, static_cast<at::ScalarType>(entry.at(1).get<int>())));
  }
  return tensors;
}

void send_tensors(const dist::Group& group, const NamedTensors& tensors) {
  std::vector<at::Tensor> values;
  for (const auto& [name, tensor] : tensors) values.push_back(tensor);
  dist::broadcast_from_rank_0(group, values);
}

}  // namespace

Checkpoint load_everywhere(const std::filesystem::path& folder, int rank, const dist::Group& control) {
  if (!control) return load(folder);
  Checkpoint checkpoint;
  std::string text;
  if (rank == 0) {
    checkpoint = load(folder);
    Json states = Json::object();
    for (const auto& [name, tensors] : checkpoint.tensors) states[name] = describe(tensors);
    text = Json{{"state", to_text(checkpoint.state)}, {"states", states}}.dump();
  }
  const Json told = Json::parse(dist::broadcast_text(control, text));
  if (rank != 0) {
    checkpoint.state = parse_state(told.at("state"), folder.string());
    for (const auto& [name, list] : told.at("states").items()) checkpoint.tensors[name] = make(list);
  }
  for (const auto& [name, tensors] : checkpoint.tensors) send_tensors(control, tensors);
  return checkpoint;
}

}  // namespace ddp::checkpoint
