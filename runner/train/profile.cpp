#include "train/profile.h"

#include <fcntl.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <system_error>
#include <utility>

#include <ATen/ops/tensor.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "record/file/atomic_file.h"

namespace ddp::train {
namespace {

using record::Phase;

// Before these steps, kinds of micro-batches are still recorded for their replay, and caches are cold.
constexpr std::int64_t kWarmUp = 10;
// The most steps that are measured without the profiler.
constexpr std::int64_t kMostPlain = 100;
constexpr std::size_t kOperatorsShown = 12;
constexpr std::size_t kLongestName = 40;
// A rank is named if another one waits for others this part of a step longer.
constexpr double kLongerWait = 0.02;

constexpr const char* kColumns[] = {"loading", "forward", "backward", "waiting for ranks", "optimizer"};
constexpr std::size_t kWaiting = 3;

double total(const std::vector<double>& parts) { return std::accumulate(parts.begin(), parts.end(), 0.0); }

std::string number(const char* form, double value) {
  char text[48];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string right(const std::string& text, std::size_t width) {
  return std::string(text.size() < width ? width - text.size() : 0, ' ') + text;
}

std::string left(std::string text, std::size_t width) {
  text.resize(width, ' ');
  return text;
}

std::string milliseconds(double seconds) { return number("%.3f", seconds * 1000); }

// "rank 1 is slowest: …"; "": no rank waits much longer than another.
std::string slowest_rank(const std::vector<std::vector<double>>& ranks) {
  const auto waits_less = [](const auto& a, const auto& b) { return a[kWaiting] < b[kWaiting]; };
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(), waits_less);
  if ((*most)[kWaiting] - (*least)[kWaiting] < kLongerWait * total(*most)) return "";
  return "the others wait for rank " + std::to_string(least - ranks.begin()) + ": it waits " +
         milliseconds((*least)[kWaiting]) + " ms in a step, rank " + std::to_string(most - ranks.begin()) + " " +
         milliseconds((*most)[kWaiting]) + " ms\n";
}

std::string rows_of_ranks(const std::vector<std::vector<double>>& ranks) {
  std::string text = "ms of a step";
  for (const char* column : kColumns) text += "  " + std::string(column);
  text += "    whole\n";
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    text += left("rank " + std::to_string(r), 12);
    for (std::size_t i = 0; i < ranks[r].size(); ++i) {
      text += "  " + right(milliseconds(ranks[r][i]), std::string_view(kColumns[i]).size());
    }
    text += " " + right(milliseconds(total(ranks[r])), 8) + "\n";
  }
  return text;
}

// `peak`: operations per second.
std::string rows_of_operators(const OperatorTimes& operators, std::int64_t steps, double step_seconds, double peak) {
  std::vector<std::pair<std::string, OperatorTimes::Row>> rows(operators.rows().begin(), operators.rows().end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  if (rows.size() > kOperatorsShown) rows.resize(kOperatorsShown);
  std::size_t width = 0;
  for (const auto& [name, row] : rows) width = std::max(width, std::min(name.size(), kLongestName));
  std::string text = left("in a step", width) + "  calls        ms  share  GFLOP/s  of the peak\n";
  for (const auto& [name, row] : rows) {
    const double seconds = row.seconds / static_cast<double>(steps);
    text += left(name, width) + "  " +
            right(number("%.4g", static_cast<double>(row.calls) / static_cast<double>(steps)), 5) + "  " +
            right(milliseconds(seconds), 8) + "  " + right(number("%.0f %%", seconds / step_seconds * 100), 5);
    if (row.operations > 0) {
      const double rate = row.operations / row.seconds;
      text += "  " + right(number("%.1f", rate / 1e9), 7) + "  " + right(number("%.0f %%", rate / peak * 100), 11);
    }
    text += "\n";
  }
  return text + "the peak is " + number("%.1f", peak / 1e9) + " GFLOP/s, of a large product of matrices\n";
}

}  // namespace

Profile::Profile(ProfiledRank rank, std::int64_t steps, std::int64_t left)
    : r_(std::move(rank)),
      from_(std::max<std::int64_t>(0, std::min(kWarmUp + std::min(steps, kMostPlain), left - steps))),
      plain_from_(std::max<std::int64_t>(0, from_ - std::min(steps, kMostPlain))),
      until_(from_ + steps) {}

void Profile::begin_step(std::int64_t step) {
  const std::int64_t done = done_++;
  if (done != plain_from_ && done != from_ && done != until_) return;
  // Closes the time of the last step; what is done here belongs to none.
  r_.progress.enter(Phase::starting);
  if (done == plain_from_) began_ = parts();
  if (done == from_) start();
  if (done == until_) finish(step, until_ - from_);
}

void Profile::end(std::int64_t step) {
  if (!operators_) return;
  r_.progress.enter(Phase::starting);
  finish(step, done_ - from_);
}

void Profile::enter(Phase phase) {
  if (!operators_) return;
  operators_->count(phase >= Phase::loading && phase <= Phase::optimizer);
  span_.reset();
  span_.emplace(at::RecordScope::USER_SCOPE);
  if (span_->isActive()) span_->before(record::to_string(phase));
}

Profile::Parts Profile::parts() const {
  const record::RankProgress& p = r_.progress;
  return {p.seconds(Phase::loading), p.seconds(Phase::forward), p.seconds(Phase::backward), p.seconds_waiting_for_ranks,
          p.seconds(Phase::optimizer)};
}

Profile::Parts Profile::since(const Parts& then, std::int64_t steps) const {
  Parts parts = this->parts();
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = (parts[i] - then[i]) / static_cast<double>(steps);
  return parts;
}

void Profile::start() {
  namespace profiler = torch::profiler::impl;
  std::set<profiler::ActivityType> activities = {profiler::ActivityType::CPU};
  if (r_.device.is_cuda()) activities.insert(profiler::ActivityType::CUDA);
  const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO, /*report_input_shapes=*/true);
  if (from_ > plain_from_) plain_ = since(began_, from_ - plain_from_);
  setenv("KINETO_LOG_LEVEL", "99", 0);  // it reports a machine without a GPU as an error
  torch::autograd::profiler::prepareProfiler(config, activities);
  torch::autograd::profiler::enableProfiler(config, activities);
  dist::barrier(r_.group);  // a rank that was ready earlier does not wait within its first step
  operators_ = std::make_unique<OperatorTimes>();
  began_ = parts();
}

void Profile::finish(std::int64_t step, std::int64_t steps) {
  const Parts mine = since(began_, steps);
  span_.reset();
  const std::unique_ptr<OperatorTimes> operators = std::move(operators_);
  operators->stop();
  const auto result = torch::autograd::profiler::disableProfiler();
  std::error_code unseen;
  std::filesystem::create_directory(r_.folder, unseen);
  const std::filesystem::path trace = r_.folder / ("rank-" + std::to_string(r_.rank) + ".json");
  // Kineto does not write to a path with a backslash.
  const FileDescriptor folder(open(r_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) result->save("/proc/self/fd/" + std::to_string(folder.get()) + "/" + trace.filename().string());
  if (!std::filesystem::exists(trace, unseen)) {
    std::filesystem::remove(trace.string() + ".tmp", unseen);  // Kineto's, which a full disk cuts short
    r_.console.line("warning: the trace was not written: " + trace.string());
  }
  std::vector<Parts> ranks;
  for (const at::Tensor& one : dist::all_gather(r_.group, at::tensor(mine, at::kDouble))) {
    const at::Tensor of_rank = one.cpu();
    ranks.emplace_back(of_rank.const_data_ptr<double>(), of_rank.const_data_ptr<double>() + of_rank.numel());
  }
  if (r_.rank != 0) return;
  const std::string text = table(ranks, *operators, step, steps);
  r_.console.line(text.substr(0, text.size() - 1));
  try {
    record::write_atomically(r_.folder / "table.txt", text);
  } catch (const Error& error) {  // the training goes on
    r_.console.line(std::string("warning: the profile's table was not written: ") + error.what());
  }
}

std::string Profile::table(const std::vector<Parts>& ranks, const OperatorTimes& operators, std::int64_t step,
                           std::int64_t steps) const {
  std::string text = "Profile of steps " + std::to_string(step - steps + 1) + " to " + std::to_string(step) +
                     "; chrome://tracing and ui.perfetto.dev open " + (r_.folder / "rank-0.json").string() + "\n";
  text += rows_of_ranks(ranks) + slowest_rank(ranks);
  text += rows_of_operators(operators, steps, total(ranks[0]), peak_rate(r_.device, r_.precision));
  if (plain_.empty()) return text;
  return text + "a step took " + milliseconds(total(ranks[0])) + " ms with the profiler, " +
         milliseconds(total(plain_)) + " ms without it\n";
}

}  // namespace ddp::train
