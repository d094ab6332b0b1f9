#include "checkpoint/state.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace ddp::checkpoint {
namespace {

nlohmann::ordered_json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string to_text(const State& s) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  for (const auto& [name, digest] : s.files) files[name] = {{"bytes", digest.bytes}, {"xxh3", digest.hash}};
  const nlohmann::ordered_json json = {
      {"version", 1},
      {"epoch", s.epoch},
      {"position", s.position},
      {"step", s.step},
      {"world_size", s.world_size},
      {"metric", {{"name", s.metric_name}, {"value", number_or_null(s.metric)}}},
      {"seconds", s.seconds},
      {"loss_sum", number_or_null(s.loss_sum)},
      {"loss_samples", s.loss_samples},
      {"config_hash", s.config_hash},
      {"buckets", s.buckets},
      {"files", files},
      {"rng", s.rng},
      {"gpu_rng", s.gpu_rng},
  };
  return json.dump(1) + "\n";
}

State parse_state(const std::string& text, const std::string& name) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  State s;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  try {
    if (json.at("version").get<int>() != 1) throw std::out_of_range("version");
    json.at("epoch").get_to(s.epoch);
    json.at("position").get_to(s.position);
    json.at("step").get_to(s.step);
    json.at("world_size").get_to(s.world_size);
    const auto& metric = json.at("metric");
    metric.at("name").get_to(s.metric_name);
    s.metric = metric.at("value").is_null() ? nan : metric.at("value").get<double>();
    json.at("seconds").get_to(s.seconds);
    s.loss_sum = json.at("loss_sum").is_null() ? nan : json.at("loss_sum").get<double>();
    json.at("loss_samples").get_to(s.loss_samples);
    json.at("config_hash").get_to(s.config_hash);
    json.at("buckets").get_to(s.buckets);
    for (const auto& [file, digest] : json.at("files").items()) {
      s.files[file] = {.bytes = digest.at("bytes").get<std::uint64_t>(), .hash = digest.at("xxh3").get<std::string>()};
    }
    json.at("rng").get_to(s.rng);
    json.at("gpu_rng").get_to(s.gpu_rng);
  } catch (const std::exception& error) {
    throw training_error(std::string("is damaged: ") + error.what(), name);
  }
  if (s.epoch < 0 || s.position < 0 || s.step < 0) throw training_error("is damaged: negative position", name);
  return s;
}

}  // namespace ddp::checkpoint
