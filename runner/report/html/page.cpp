#include "report/html/page.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/embedded.h"
#include "base/error.h"
#include "config/text/source.h"
#include "record/run_directory.h"
#include "record/summary.h"
#include "report/read/history.h"
#include "report/read/summary_view.h"
#include "report/select/row.h"

namespace ddp::report {
namespace fs = std::filesystem;
namespace {

using config::Value;

constexpr std::size_t kMostRuns = 64;
constexpr std::size_t kMostTrials = 200;

// Keeps the page below 2 MB, even with 200 trials.
std::size_t points_for(std::size_t runs) {
  return std::clamp<std::size_t>(10000 / std::max<std::size_t>(1, runs), 50, 1200);
}

void note(Value& data, const fs::path& where, const std::string& what) {
  data["problems"].push_back(config::printable(where.string() + ": " + what));
}

void flatten(const std::string& prefix, const Value& table, Value& flat) {
  for (const auto& [name, value] : table.items()) {
    const std::string key = prefix.empty() ? name : prefix + "." + name;
    if (value.is_object()) {
      flatten(key, value, flat);
    } else {
      flat[key] = value;
    }
  }
}

Value flat_config(Value& data, const fs::path& file) try {
  Value flat = Value::object();
  flatten("", read_config(file), flat);
  return flat;
} catch (const Error& error) {
  note(data, file, error.summary());
  return Value::object();
}

History history_of(Value& data, const fs::path& metrics, std::size_t most_points) try {
  History history = read_history(metrics, most_points);
  const std::int64_t lost = history.passed_over;
  if (lost > 0) note(data, metrics, std::to_string(lost) + (lost == 1 ? " line is" : " lines are") + " damaged");
  return history;
} catch (const Error& error) {
  note(data, metrics, error.summary());
  return History(most_points);
}

Value moment(const std::optional<std::time_t>& time) { return time ? Value(record::timestamp(*time)) : Value(); }

void add_page_view(Value& json, const View& view) {
  json["name"] = view.name;
  json["run_id"] = view.run_id;
  json["folder"] = view.folder.string();
  json["status"] = view.status;
  json["started"] = moment(view.started > 0 ? std::optional(view.started) : std::nullopt);
  json["ended"] = moment(view.ended);
  json["seconds"] = view.seconds;
}

Value run_summary(const RunView& run) {
  Value json = Value::object();
  add_page_view(json, run);
  add_facts(json, run);
  json["git"] = run.commit + (run.dirty ? "+" : "");
  return json;
}

// A run with a damaged summary still has curves.
Value run_summary(Value& data, const fs::path& folder) try {
  return run_summary(read_run(folder));
} catch (const Error& error) {
  note(data, error.where(), error.summary());
  RunView unknown;
  unknown.folder = folder;
  unknown.run_id = config::printable(folder.filename().string());
  unknown.status = "unknown";
  return run_summary(unknown);
}

void add_history(Value& json, const History& history) {
  json["per_step"] = history.steps.to_json();
  json["per_epoch"] = history.epochs.to_json();
  json["events"] = history.events.newest;
  json["events_in_all"] = history.events.in_all;
}

// Labels each run with the shortest text that distinguishes the runs.
void add_labels(Value& runs) {
  std::set<std::string> names, ids, both;
  for (const Value& run : runs) {
    const auto name = run["name"].get<std::string>(), id = run["run_id"].get<std::string>();
    names.insert(name);
    ids.insert(id);
    both.insert(name + "/" + id);
  }
  for (Value& run : runs) {
    const auto name = run["name"].get<std::string>(), id = run["run_id"].get<std::string>();
    const bool one_name = names.size() == 1 && runs.size() > 1;
    run["label"] = both.size() < runs.size() ? run["folder"].get<std::string>() : one_name ? id : name + "/" + id;
  }
}

Value begin(const char* kind) {
  return {
      {"version", 1}, {"kind", kind}, {"written", record::timestamp(std::time(nullptr))}, {"problems", Value::array()}};
}

// If a trial runs but its sweep does not, both were killed.
std::string status_of(const TrialView& trial, const SweepView& sweep) {
  return trial.status == "running" && sweep.status != "running" ? "interrupted" : trial.status;
}

Value trial_json(const TrialView& trial, const SweepView& sweep) {
  return {{"trial", trial.trial},
          {"place", trial.place ? Value(*trial.place) : Value()},
          {"folder", trial.folder.string()},
          {"status", status_of(trial, sweep)},
          {"metric", trial.metric ? Value(*trial.metric) : Value()},
          {"epochs", trial.epochs},
          {"seconds", trial.seconds},
          {"parameters", trial.parameters},
          {"error", trial.error.empty() ? Value() : Value(trial.error)}};
}

Value sweep_json(Value& data, const SweepView& sweep) {
  Value json = Value::object();
  add_page_view(json, sweep);
  add_facts(json, sweep);
  json["ranking"] = Value::array();
  for (const TrialView& trial : sweep.ranking) json["ranking"].push_back(trial_json(trial, sweep));
  json["repeat"] = sweep.repeat;
  json["config"] = flat_config(data, record::RunDirectory(sweep.folder).sweep());
  return json;
}

}  // namespace

Value runs_data(const std::vector<fs::path>& folders) {
  if (folders.size() > kMostRuns) {
    throw usage_error(std::to_string(folders.size()) + " runs are too many for one page", "",
                      "name at most " + std::to_string(kMostRuns));
  }
  Value data = begin("runs");
  data["runs"] = Value::array();
  for (const fs::path& folder : folders) {
    const record::RunDirectory directory(folder);
    Value run = run_summary(data, folder);
    run["config"] = flat_config(data, directory.config());
    const History history = history_of(data, directory.metrics(), points_for(folders.size()));
    add_history(run, history);
    run["checkpoints"] = history.checkpoints.newest;
    run["checkpoints_in_all"] = history.checkpoints.in_all;
    data["runs"].push_back(std::move(run));
  }
  add_labels(data["runs"]);
  return data;
}

Value sweep_data(const fs::path& folder) {
  Value data = begin("sweep");
  const SweepView sweep = read_sweep(folder);
  data["sweep"] = sweep_json(data, sweep);
  std::vector<const TrialView*> begun;
  for (const TrialView& trial : sweep.ranking) {
    if (record::RunDirectory(trial.folder).begun()) begun.push_back(&trial);
  }
  const std::size_t shown = std::min(begun.size(), kMostTrials);
  data["environment"] = shown > 0 ? run_summary(data, begun.front()->folder) : Value();
  data["runs"] = Value::array();
  for (std::size_t i = 0; i < shown; ++i) {
    Value run = {{"trial", begun[i]->trial}};
    const fs::path metrics = record::RunDirectory(begun[i]->folder).metrics();
    add_history(run, history_of(data, metrics, points_for(shown)));
    for (const char* not_drawn : {"lr", "samples_per_second"}) run["per_step"]["columns"].erase(not_drawn);
    data["runs"].push_back(std::move(run));
  }
  data["runs_left_out"] = begun.size() - shown;
  return data;
}

extern const std::span<const EmbeddedFile> kPageFiles;  // runner/report/html/page

namespace {

std::string_view page_file(std::string_view name) {
  const auto is_it = [name](const EmbeddedFile& file) { return file.name == name; };
  return std::find_if(kPageFiles.begin(), kPageFiles.end(), is_it)->text;
}

// All scripts contain only definitions, except main.js, which comes last.
std::string all_scripts() {
  std::string script;
  for (const EmbeddedFile& file : kPageFiles) {
    if (file.name.ends_with(".js") && file.name != "main.js") script.append(file.text) += '\n';
  }
  return script.append(page_file("main.js"));
}

// Escapes JSON for <script type="application/json">: "<" could begin "</script>" or "<!--" there; older JavaScript
// takes U+2028 and U+2029 for line ends.
std::string escaped(const config::Value& data) {
  const std::string json = data.dump(-1, ' ', false, config::Value::error_handler_t::replace);
  std::string text;
  text.reserve(json.size() + json.size() / 64);
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest(json.data() + i, json.size() - i);
    if (json[i] == '<') {
      text += "\\u003c";
    } else if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
      text += rest.starts_with("\u2028") ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += json[i];
    }
  }
  return text;
}

std::string all_styles() {
  std::string style;
  for (const EmbeddedFile& file : kPageFiles) {
    if (file.name.ends_with(".css")) style.append(file.text) += '\n';
  }
  return style;
}

// Returns a random nonce: the page runs only the style and script that carry it, and the data's author cannot know it.
std::string new_nonce() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device entropy;
  std::string nonce;
  for (int i = 0; i < 32; ++i) nonce += kDigits[entropy() % 16];
  return nonce;
}

}  // namespace

std::string page(const config::Value& data) {
  const std::string json = escaped(data);
  const std::string nonce = new_nonce();
  const std::string script = all_scripts();
  const std::string style = all_styles();
  const std::array<std::pair<std::string_view, std::string_view>, 4> parts = {
      {{"@nonce@", nonce}, {"@style@", style}, {"@data@", json}, {"@script@", script}}};
  std::string text;
  text.reserve(json.size() + style.size() + script.size() + 4096);
  // One pass over the page: inserted text is not scanned again.
  for (std::string_view rest = page_file("report.html"); !rest.empty();) {
    const auto* part = parts.begin();
    while (part != parts.end() && !rest.starts_with(part->first)) ++part;
    text += part != parts.end() ? part->second : rest.substr(0, 1);
    rest.remove_prefix(part != parts.end() ? part->first.size() : 1);
  }
  return text;
}

}  // namespace ddp::report
