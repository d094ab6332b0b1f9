#include "checkpoint/state.h"

#include <climits>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/text/json_text.h"

namespace ddp::checkpoint {
namespace {

double number_or_nan(const nlohmann::json& object, const std::string& key) {
  const bool none = config::member(object, key).is_null();
  return none ? std::numeric_limits<double>::quiet_NaN() : config::number_member(object, key);
}

const nlohmann::json& list_member(const nlohmann::json& object, const std::string& key) {
  const auto& value = config::member(object, key);
  if (!value.is_array()) throw std::runtime_error("\"" + key + "\" is not a list");
  return value;
}

// Returns one text for each rank.
std::vector<std::string> texts_of_ranks(const nlohmann::json& list, int ranks) {
  auto texts = list.get<std::vector<std::string>>();
  if (texts.size() != static_cast<std::size_t>(ranks)) {
    throw std::runtime_error("it has the generators of " + std::to_string(texts.size()) + " ranks, not of " +
                             std::to_string(ranks));
  }
  return texts;
}

dist::Buckets buckets_of(const nlohmann::json& list) {
  dist::Buckets buckets;
  for (const auto& bucket : list) {
    if (!bucket.is_array()) throw std::runtime_error("a bucket is not a list");
    auto& indices = buckets.emplace_back();
    for (const auto& index : bucket) indices.push_back(static_cast<std::size_t>(config::as_count(index)));
  }
  return buckets;
}

std::map<std::string, config::Value> rules_of(const nlohmann::json& object) {
  if (!object.is_object()) throw std::runtime_error("\"rules\" is not an object");
  std::map<std::string, config::Value> rules;
  for (const auto& [name, numbers] : object.items()) {
    if (!numbers.is_object()) throw std::runtime_error("the rule \"" + name + "\" is not an object");
    rules.emplace(name, numbers);
  }
  return rules;
}

State state_of(const nlohmann::json& json) {
  using config::count_member;
  if (count_member(json, "version") != 1) throw std::runtime_error("\"version\" is not 1");
  const auto& metric = config::member(json, "metric");
  State s;
  s.epoch = count_member(json, "epoch");
  s.position = count_member(json, "position");
  s.offset = count_member(json, "offset");
  s.step = count_member(json, "step");
  if (json.contains("skipped_steps")) s.skipped_steps = count_member(json, "skipped_steps");
  s.world_size = static_cast<int>(count_member(json, "world_size", INT_MAX));
  if (s.world_size == 0) throw std::runtime_error("\"world_size\" is 0");
  s.ranks = json.contains("ranks") ? static_cast<int>(count_member(json, "ranks", INT_MAX)) : s.world_size;
  s.batch_size = count_member(json, "batch_size");
  s.global_batch_size = count_member(json, "global_batch_size");
  if (json.contains("freeze")) s.freeze = json.at("freeze").get<std::vector<std::string>>();
  s.buckets = buckets_of(list_member(json, "buckets"));
  s.seconds = config::number_member(json, "seconds");
  s.seen = count_member(json, "seen");
  s.loss_sum = number_or_nan(json, "loss_sum");
  s.loss_samples = count_member(json, "loss_samples");
  s.loss_weight =
      json.contains("loss_weight") ? config::number_member(json, "loss_weight") : static_cast<double>(s.loss_samples);
  if (json.contains("scalar_sums")) {
    for (const auto& sum : list_member(json, "scalar_sums")) {
      s.scalar_sums.push_back(sum.is_null() ? std::numeric_limits<double>::quiet_NaN() : sum.get<double>());
    }
  }
  s.judged_by = record::metric_member(json);
  s.metric = number_or_nan(metric, "value");
  s.reason = record::reason_member(json);
  if (json.contains("ended_by")) s.ended_by = config::text_member(json, "ended_by");
  if (json.contains("rules")) s.rules = rules_of(json.at("rules"));
  s.config_hash = config::text_member(json, "config_hash");
  const auto& files = config::member(json, "files");
  if (!files.is_object()) throw std::runtime_error("\"files\" is not an object");
  for (const auto& [file, digest] : files.items()) {
    s.files[file] = {.bytes = static_cast<std::uint64_t>(count_member(digest, "bytes")),
                     .hash = config::text_member(digest, "xxh3")};
  }
  s.data = record::data_member(json);
  if (json.contains("rows")) s.rows = json.at("rows");
  s.rng = texts_of_ranks(list_member(json, "rng"), s.world_size);
  for (const auto& device : list_member(json, "gpu_rng")) s.gpu_rng.push_back(texts_of_ranks(device, s.world_size));
  return s;
}

}  // namespace

std::string to_text(const State& s) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  for (const auto& [name, digest] : s.files) files[name] = {{"bytes", digest.bytes}, {"xxh3", digest.hash}};
  nlohmann::ordered_json json = {
      {"version", 1},
      {"epoch", s.epoch},
      {"position", s.position},
      {"offset", s.offset},
      {"step", s.step},
      {"world_size", s.world_size},
      {"ranks", s.ranks},
      {"batch_size", s.batch_size},
      {"global_batch_size", s.global_batch_size},
      {"metric",
       {{"name", s.judged_by.name},
        {"value", config::number_or_null(s.metric)},
        {"direction", config::to_string(s.judged_by.direction)}}},
      {"seconds", s.seconds},
      {"seen", s.seen},
      {"loss_sum", config::number_or_null(s.loss_sum)},
      {"loss_weight", s.loss_weight},
      {"loss_samples", s.loss_samples},
      {"config_hash", s.config_hash},
      {"freeze", s.freeze},
      {"buckets", s.buckets},
      {"files", files},
      {"rng", s.rng},
      {"gpu_rng", s.gpu_rng},
  };
  for (const double sum : s.scalar_sums) json["scalar_sums"].push_back(config::number_or_null(sum));
  if (s.data) json["data"] = record::to_value(*s.data);
  if (!s.rows.is_null()) json["rows"] = s.rows;
  if (!s.rules.empty()) json["rules"] = s.rules;
  if (s.skipped_steps > 0) json["skipped_steps"] = s.skipped_steps;
  if (!s.ended_by.empty()) json["ended_by"] = s.ended_by;
  if (s.reason != record::SaveReason::regular) json["reason"] = record::to_string(s.reason);
  return json.dump(1) + "\n";
}

State parse_state(const std::string& text, const std::string& name) {
  try {
    return state_of(config::parse_json(text));
  } catch (const std::exception& error) {
    throw training_error(std::string("is damaged: ") + error.what(), name);
  }
}

}  // namespace ddp::checkpoint
