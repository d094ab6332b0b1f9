#include "sweep/out_of_fold.h"

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "base/text_number.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "runs/predicting.h"
#include "runs/trained.h"

namespace ddp::sweep {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMostHeldOut = 1ULL << 36;

fs::path held_out_file(const record::RunDirectory& run) { return run.path() / "held_out.csv"; }

// Takes the text before the first `end`, as it is written, and the `end`. Neither is looked for inside quotes.
std::string_view take(std::string_view& text, char end) {
  std::size_t at = 0;
  for (bool quoted = false; at < text.size() && (quoted || text[at] != end); ++at) quoted ^= text[at] == '"';
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

std::string_view take_cell(std::string_view& line) { return take(line, ','); }
std::string_view take_line(std::string_view& text) { return take(text, '\n'); }

// A line of oof.csv, and its place.
struct Joined {
  std::tuple<std::int64_t, std::size_t> place;  // row, run
  std::string text;
};

void write_predictions(const launch::RankLibrary& library, launch::Plan plan, const launch::HeldData& data,
                       const record::RunDirectory& run) {
  const fs::path checkpoint =
      runs::choose_trained(run, runs::TrainedOptions{.run = run.path().string(), .from = "", .sets = {}}).checkpoint;
  config::Experiment& e = plan.experiment;
  e.parallel = "single";
  e.logical_ranks.reset();
  const std::int64_t batch_size = e.validation.batch_size.value_or(*e.batch_size);
  const fs::path file = held_out_file(run);
  const fs::path unfinished = file.string() + ".tmp";
  const FileDescriptor out(open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!out) throw training_error("cannot write: " + errno_text(errno), unfinished.string());
  runs::predict({.plan = plan,
                 .library = library,
                 .task = {.run_directory = run.path(),
                          .resume_from = checkpoint,
                          .held_data = data.file(),
                          .preprocessing = record::fitted_to_data(checkpoint)},
                 .deal = {.inputs = {}, .held_out = true, .pipes = {}, .batch_size = batch_size},
                 .predict = {.batch_size = batch_size, .form = "csv", .decides = false},
                 .collect = {.pipes = {}, .form = "csv", .name = file.string()},
                 .kept = data.kept()},
                out.get());
  record::write_atomically(file, record::read_text(unfinished, kMostHeldOut));
  std::error_code gone;
  fs::remove(unfinished, gone);
}

}  // namespace

bool has_held_out(const record::RunDirectory& run) {
  std::error_code none;
  return fs::exists(held_out_file(run), none);
}

void predict_held_out(const launch::RankLibrary& library, const launch::Plan& plan, const launch::HeldData& data,
                      const record::RunDirectory& run) {
  try {
    write_predictions(library, plan, data, run);
  } catch (const Error& error) {
    if (error.fault() != Fault::usage) throw;
    log::warn("no oof.csv is written: " + error.summary());
    record::write_atomically(held_out_file(run), "");
  }
}

void join_held_out(const record::RunDirectory& cv, const std::vector<config::Part>& parts) {
  std::set<std::int64_t> seeds, repeats;
  for (const config::Part& part : parts) {
    seeds.insert(part.seed);
    repeats.insert(*part.repeat);
  }
  std::string head;
  std::vector<Joined> lines;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string content = record::read_text(held_out_file(cv.trial(static_cast<int>(i))), kMostHeldOut);
    if (content.empty()) return;
    std::string_view text = content, names = take_line(text);
    take_cell(names);  // row
    std::string targets;
    std::size_t target_count = 0;
    for (; names.starts_with("target"); ++target_count) targets += "," + std::string(take_cell(names));
    std::string of_run = "," + std::to_string(*parts[i].fold);
    if (repeats.size() > 1) of_run += "," + std::to_string(*parts[i].repeat);
    if (seeds.size() > 1) of_run += "," + std::to_string(parts[i].seed);
    head = std::string("row,fold") + (repeats.size() > 1 ? ",repeat" : "") + (seeds.size() > 1 ? ",seed" : "") + "," +
           std::string(names) + targets + "\n";
    while (!text.empty()) {
      std::string_view cells = take_line(text);
      const std::string_view row = take_cell(cells);
      std::string target;
      for (std::size_t k = 0; k < target_count; ++k) target += "," + std::string(take_cell(cells));
      lines.push_back({.place = {text_number<std::int64_t>(row).value_or(0), i},
                       .text = std::string(row) + of_run + "," + std::string(cells) + target + "\n"});
    }
  }
  std::sort(lines.begin(), lines.end(), [](const Joined& a, const Joined& b) { return a.place < b.place; });
  for (const Joined& line : lines) head += line.text;
  record::write_atomically(cv.path() / "oof.csv", head);
}

}  // namespace ddp::sweep
