#include "record/metrics/matrices.h"

#include <exception>
#include <utility>

#include "record/file/atomic_file.h"

namespace ddp::record {
namespace {

config::Value read_matrices(const RunDirectory& run) {
  std::error_code none;
  if (!std::filesystem::exists(run.matrices(), none)) return config::Value::object();
  try {
    config::Value kept = config::Value::parse(read_text(run.matrices()));
    if (kept.is_object()) return kept;
  } catch (const std::exception&) {  // damaged: the next measurement writes a new file
  }
  return config::Value::object();
}

}  // namespace

void keep_matrices(const RunDirectory& run, const config::Value& by_name, std::int64_t step) {
  if (by_name.empty()) return;
  config::Value kept = read_matrices(run);
  for (const auto& [name, rows] : by_name.items()) kept[name] = {{"step", step}, {"rows", rows}};
  write_atomically(run.matrices(), kept.dump() + "\n");
}

config::Value kept_matrices(const RunDirectory& run, std::int64_t step) {
  config::Value found = config::Value::object();
  const config::Value kept = read_matrices(run);
  for (const auto& [name, one] : kept.items()) {
    const bool whole =
        one.is_object() && one.contains("rows") && one.contains("step") && one["step"].is_number_integer();
    if (whole && one["step"].get<std::int64_t>() <= step) found[name] = one["rows"];
  }
  return found;
}

}  // namespace ddp::record
