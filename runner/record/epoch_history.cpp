#include "record/epoch_history.h"

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "record/checkpoint_index.h"

namespace ddp::record {
namespace {

double number(const nlohmann::json& line, const std::string& key) {
  const auto value = line.find(key);
  return value != line.end() && value->is_number() ? value->get<double>() : EpochHistory::kNone;
}

}  // namespace

EpochHistory epoch_history(const std::filesystem::path& metrics, const std::string& metric) {
  EpochHistory history;
  std::ifstream in(metrics);
  for (std::string text; std::getline(in, text);) {
    // Most lines are of steps: those are not parsed.
    if (text.find("\"event\":\"epoch\"") == std::string::npos) continue;
    const auto line = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!line.is_object()) continue;
    history.train_loss = number(line, "train_loss");
    // Validation may be rarer than epochs: its last values stay.
    if (line.contains("val_loss")) history.val_loss = number(line, "val_loss");
    if (line.contains("val_accuracy")) history.val_accuracy = number(line, "val_accuracy");
    const double value = number(line, metric);
    const bool better = greater_is_better(metric) ? value > history.best : value < history.best;
    if (std::isnan(value) || (!std::isnan(history.best) && !better)) continue;
    history.best = value;
    history.best_step = line.value("step", std::int64_t{0});
  }
  return history;
}

}  // namespace ddp::record
