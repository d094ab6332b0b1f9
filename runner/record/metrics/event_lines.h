#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "config/option/fields.h"
#include "record/metrics/metric_values.h"
#include "record/saves/checkpoint_index.h"
#include "record/summary.h"

namespace ddp::record {

// One optimizer step, as metrics.jsonl records it.
struct StepRecord {
  static constexpr const char* kEvent = "step";
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double loss = 0;
  double lr = 0;
  std::int64_t samples = 0;              // of all ranks
  bool nothing_counts = false;           // the loss ignores every target of the step: there is no mean
  bool ends_run = false;                 // the run fails at this step and reports the loss itself
  std::optional<double> grad_norm = {};  // before clipping; nothing: gradients are not clipped
  MetricValues scalars = {};             // that come with the loss: means over samples
  bool skipped = false;                  // the gradients were not finite, and no parameter changed
};

// The end of an epoch.
struct EpochRecord {
  static constexpr const char* kEvent = "epoch";
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::int64_t samples = 0;  // of the whole epoch, all ranks
  MetricValues metrics;      // train_loss first
  bool streams_urls = false;
};

// A validation inside an epoch.
struct ValidationRecord {
  static constexpr const char* kEvent = "validation";
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  MetricValues metrics;  // val_loss first
};

// The test at the end of a run, with the weights of `step`.
struct TestRecord {
  static constexpr const char* kEvent = "test";
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  MetricValues metrics;  // test_loss first
};

// A complete checkpoint.
struct SaveRecord {
  static constexpr const char* kEvent = "checkpoint";
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::filesystem::path folder = {};
  double stall = 0;  // seconds that training waited for the save
  SaveReason reason = SaveReason::regular;
};

// The point from which a run resumes, and the changes of its experiment.
struct ResumeRecord {
  static constexpr const char* kEvent = "resume";
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::filesystem::path checkpoint = {};  // empty: from the start
  int world_size = 1;
  std::string changes = {};           // of the experiment, as a JSON object; empty: none
  std::optional<Origin> origin = {};  // for the start of a fork
};

// From this point another number of ranks computes the run.
struct WorldRecord {
  static constexpr const char* kEvent = "world";
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  int ranks = 1;
  std::string reason = "resume";
};

// The ranks of a run start again after one of them failed.
struct RestartRecord {
  static constexpr const char* kEvent = "restart";
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  int restart = 1;  // number of this restart in the run, from 1
  int rank = -1;    // the rank that failed
  std::string cause = {};
  std::filesystem::path checkpoint = {};  // empty: from the start
};

// Builds one JSON object of metrics.jsonl without a document tree: for a small model, building the tree takes longer
// than a step. Numbers read back exactly as they were.
class JsonLine {
 public:
  explicit JsonLine(std::string_view event);
  JsonLine& add(std::string_view key, std::int64_t value);
  JsonLine& add(std::string_view key, std::string_view value);
  // A value that is not finite becomes null, and the line gets "finite":false once.
  JsonLine& add(std::string_view key, double value);
  // The parts of a config::Option that a line needs, without memory of its own.
  struct Named {
    const char* name = "";
    const char* doc = "";
    config::Range range = {};
    std::initializer_list<const char*> choices = {};
    bool optional = false;
    bool may_be_null = false;
  };
  // Fields as config::Fields lists them.
  template <class T>
  void operator()(const Named& m, const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      add(m.name, static_cast<double>(value));
    } else if constexpr (std::is_integral_v<T>) {
      add(m.name, std::int64_t{value});
    } else if constexpr (std::is_same_v<T, std::string>) {
      add(m.name, std::string_view(value));
    } else {
      add(m.name, config::FieldType<T>::value(value));
    }
  }
  void operator()(const Named& m, const config::Value& value, const config::Value&) { add(m.name, value); }
  void numbers(const char*, const char*, const MetricValues& values, const char* = "") {
    for (const auto& [name, value] : values) add(name, value);
  }
  void flag(const Named& m, bool value) {
    if (value) add(m.name, config::Value(true));
  }
  void not_finite() {}  // finish() adds it
  template <class T>
  void operator()(const Named& m, const std::optional<T>& value) {
    if (value) (*this)(m, *value);
  }
  JsonLine& add(std::string_view key, const config::Value& value);
  // Returns the line with its newline.
  std::string finish();

 private:
  void key(std::string_view name);
  std::string text_;
  bool finite_ = true;
};

// Seconds of rank 0 in an epoch, as far as this process trained it.
struct EpochPace {
  double training = 0;  // without validations and saves; the next five are parts of it
  double waiting_for_data = 0;
  double forward = 0;
  double backward = 0;
  double waiting_for_ranks = 0;
  double optimizer = 0;
  double validating = 0;
  double saving = 0;
  // Of a stream of URLs, all ranks of this node.
  std::optional<std::int64_t> fetched_bytes = {};
  std::optional<std::int64_t> retries = {};
};

// The only writer of metrics.jsonl. Each function returns one event as a line with its newline. `seconds`: training
// time of the run. event_reader.h reads the lines.
std::string to_line(const StepRecord& record, double samples_per_second, double seconds);
std::string to_line(const EpochRecord& record, double samples_per_second, const EpochPace& pace, double seconds);
std::string to_line(const ValidationRecord& record, double seconds);
std::string to_line(const TestRecord& record, double seconds);
std::string to_line(const SaveRecord& record, double seconds);
std::string to_line(const ResumeRecord& record, double seconds);
std::string to_line(const WorldRecord& record, double seconds);
std::string to_line(const RestartRecord& record, double seconds);

// Tells whether the line of a step may have this key by itself.
bool is_key_of_step(const std::string& key);

// The JSON Schema of these lines.
config::Value metrics_schema();

// Returns a checkpoint's name as events and messages give it: "checkpoints/step-00000046"; "" for an empty path.
std::string name_in_run(const std::filesystem::path& checkpoint);

}  // namespace ddp::record
