#include "record/metrics/epoch_history.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "config/text/json_text.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::record {
namespace {

double number(const nlohmann::json& line, const std::string& key) {
  const auto value = line.find(key);
  return value != line.end() && value->is_number() ? value->get<double>() : EpochHistory::kNone;
}

// An epoch's line; null where it is none of ours.
nlohmann::json read_line(const std::string& text) {
  try {
    auto line = config::parse_json(text);
    config::count_member(line, "step");
    return line;
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

EpochHistory epoch_history(const std::filesystem::path& metrics, const std::string& metric) {
  EpochHistory history;
  std::error_code none;
  if (!std::filesystem::is_regular_file(metrics, none)) return history;
  std::ifstream in(metrics);
  for (std::string text; std::getline(in, text);) {
    // Most lines are of steps: those are not parsed.
    if (text.find("\"event\":\"epoch\"") == std::string::npos) continue;
    const auto line = read_line(text);
    if (line.is_null()) continue;
    history.train_loss = number(line, "train_loss");
    // Validation may be rarer than epochs: its last values stay.
    if (line.contains("val_loss")) history.val_loss = number(line, "val_loss");
    if (line.contains("val_accuracy")) history.val_accuracy = number(line, "val_accuracy");
    const double value = number(line, metric);
    if (!is_better(metric, value, history.best)) continue;
    history.best = value;
    history.best_step = config::count_member(line, "step");
  }
  return history;
}

}  // namespace ddp::record
