#include "checkpoint/everywhere.h"

#include <algorithm>
#include <cstring>

#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/generators.h"

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

namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// RFC 4648.
std::string to_base64(const at::Tensor& bytes) {
  const auto* data = bytes.const_data_ptr<std::uint8_t>();
  const std::int64_t size = bytes.numel();
  std::string text;
  for (std::int64_t i = 0; i < size; i += 3) {
    const int left = static_cast<int>(std::min<std::int64_t>(3, size - i));
    std::uint32_t group = 0;
    for (int b = 0; b < 3; ++b) group = group << 8 | (b < left ? data[i + b] : 0u);
    for (int d = 0; d < 4; ++d) text += d <= left ? kAlphabet[group >> (18 - 6 * d) & 63] : '=';
  }
  return text;
}

at::Tensor from_base64(const std::string& text) {
  std::string bytes;
  std::uint32_t group = 0;
  int digits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const char* place = c == '\0' ? nullptr : std::strchr(kAlphabet, c);
    if (place == nullptr) throw training_error("the generator's state is damaged", "state.json");
    group = group << 6 | static_cast<std::uint32_t>(place - kAlphabet);
    if (++digits == 4) {
      for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(group >> shift & 0xff);
      group = 0;
      digits = 0;
    }
  }
  if (digits > 1) {
    group <<= 6 * (4 - digits);
    for (int b = 0; b < digits - 1; ++b) bytes += static_cast<char>(group >> (16 - 8 * b) & 0xff);
  }
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  if (!bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

std::vector<std::string> gather(const dist::Group& group, const std::string& device) {
  std::vector<std::string> list;
  for (const auto& state : dist::all_gather(group, model::generator_of(device).get_state()))
    list.push_back(to_base64(state));
  return list;
}

void restore(const std::vector<std::string>& states, int rank, const std::string& device) {
  if (rank >= static_cast<int>(states.size())) return;
  try {
    model::generator_of(device).set_state(from_base64(states[rank]));
  } catch (const c10::Error& error) {
    throw training_error("the generator's state is damaged: " + error.msg(), "state.json");
  }
}

}  // namespace

void gather_rng(const dist::Group& group, model::Generators& generators, State& state) {
  const auto logical = static_cast<std::size_t>(generators.logical());
  // Puts what all ranks have of their logical rank i between what they have of the others.
  const auto place = [logical](const std::vector<std::string>& of_ranks, std::size_t i, std::vector<std::string>& all) {
    all.resize(of_ranks.size() * logical);
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) all[rank * logical + i] = of_ranks[rank];
  };
  state.gpu_rng.clear();
  for (std::size_t i = 0; i < logical; ++i) {
    generators.use(static_cast<int>(i));
    place(gather(group, "cpu"), i, state.rng);
    std::size_t gpu = 0;
    for (const std::string& device : generators.devices()) {
      if (device == "cpu") continue;
      if (i == 0) state.gpu_rng.emplace_back();
      place(gather(group, device), i, state.gpu_rng[gpu++]);
    }
  }
}

void restore_rng(int rank, model::Generators& generators, const State& state) {
  const std::vector<std::string>& devices = generators.devices();
  for (int i = 0; i < generators.logical(); ++i) {
    const int logical = (rank * generators.logical() + i) % state.world_size;
    generators.use(i);
    restore(state.rng, logical, "cpu");
    for (std::size_t d = 0; d < std::min(devices.size(), state.gpu_rng.size()); ++d) {
      if (devices[d] != "cpu") restore(state.gpu_rng[d], logical, devices[d]);
    }
  }
}

}  // namespace ddp::checkpoint
