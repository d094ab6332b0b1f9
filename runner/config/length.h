#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "config/option/value.h"

namespace ddp::config {

// The length of a run: micro-batches per rank and epoch, optimizer steps, epochs.
struct Length {
  std::int64_t micro_batches_per_epoch = 0;  // endless datasets: 0
  std::int64_t steps_per_epoch = 0;
  std::int64_t steps = 0;
  std::int64_t epochs = 0;
};

// A part of a run in an experiment file: steps (an integer, or "200 steps"), epochs ("10 epochs"), or a share of the
// run's steps ("5%").
struct RunPart {
  enum class Unit { steps, epochs, share };
  double amount = 0;  // percent for a share
  Unit unit = Unit::steps;

  // Returns this part of a run of the given length in optimizer steps, rounded half up, at least 1. Epochs are
  // converted with the current steps_per_epoch, even if the run began with another world size. Throws ddp::Error
  // (usage) that names `key` if the part counts epochs and the dataset has none.
  std::int64_t steps_of(const Length& run, const std::string& key) const;
};

// Returns nothing if the text has another form, is 0, or is more than the run (100%).
std::optional<RunPart> read_run_part(const std::string& text);

// Does the value count epochs?
bool counts_epochs(const Value& value);

// Returns the steps of a checked value: an integer is a number of steps, a text is read as a RunPart. Throws ddp::Error
// (usage) for any other value, and if RunPart::steps_of() throws.
std::int64_t steps_of(const Value& value, const Length& run, const std::string& key);

// Returns the seconds of a text such as "2h30m": whole days (d), hours (h), minutes (m) and seconds (s), each at most
// once, in this order. Returns nothing if the text has another form, is 0 or is more than 1e9 seconds.
std::optional<std::int64_t> read_time_span(const std::string& text);

// A form of an option's text, such as a part of a run: "10 epochs".
struct TextForm {
  std::string in_words;                   // its description in errors
  std::string pattern;                    // the regular expression of the JSON Schema
  bool (*fits)(const std::string& text);  // does a text have the form?
};

// The names of the forms: Option::form.
inline constexpr const char* kPartForm = "part";
inline constexpr const char* kTimeSpanForm = "timespan";
inline constexpr const char* kCommandForm = "command";
inline constexpr const char* kBytesForm = "bytes";

// The types of each value of a list whose texts have a form.
inline const std::vector<Type> kTypesWithForm = {Type::integer, Type::text};

// Throws ddp::Error (usage) for an unknown form: components.json is damaged.
const TextForm& text_form(const std::string& name);

// Returns how many of `size` samples are held out for validation.
std::int64_t held_out(std::int64_t size, double split);

// Samples that each rank sees in an epoch, as in DistributedSampler.
std::int64_t samples_of_rank(std::int64_t size, int world_size, bool drop_last);

// Micro-batches of a rank in an epoch of `size` samples, as in DataLoader over DistributedSampler; [loader]
// drop_last_batch is DataLoader's drop_last.
std::int64_t micro_batches_of_rank(std::int64_t size, int world_size, std::int64_t batch_size, const Loader& loader);

// A position inside an epoch, in the units of one world size and micro-batch size.
struct EpochPlace {
  std::int64_t position = 0;  // micro-batches per rank done with this world size and batch size,
  std::int64_t offset = 0;    // after so many samples that other ranks or other micro-batch sizes did
  int world_size = 1;
  std::int64_t batch_size = 1;  // samples of a micro-batch

  // Samples of the epoch that all ranks have done. Before the end of the epoch every micro-batch is whole.
  std::int64_t seen() const { return offset + position * batch_size * world_size; }
  // The same position for another world size or micro-batch size: seen samples stay seen, and the remaining samples are
  // divided again among the ranks.
  EpochPlace converted(int new_world_size, std::int64_t new_batch_size) const;
};

// The progress of a run that is resumed.
struct Done {
  std::int64_t epoch = 0;  // completed epochs
  std::int64_t step = 0;
  std::int64_t left = 0;  // micro-batches left in the epoch in progress; 0: no epoch is in progress

  // `left`: of the epoch in progress, which is complete if nothing is left; none: no epoch is in progress.
  static Done at(std::int64_t epoch, std::int64_t step, std::optional<std::int64_t> left) {
    const bool is_complete = left && *left <= 0;
    return {.epoch = epoch + (is_complete ? 1 : 0), .step = step, .left = is_complete ? 0 : left.value_or(0)};
  }
};

// `per_epoch`: data::Batches::per_epoch(). A run with a number of epochs does its remaining epochs, however many steps
// the completed ones took.
Length length_of(const Experiment& experiment, std::int64_t per_epoch, const Done& done = {});

// Returns whether such a run saves before its end, or may do so. Saves by the time do not count.
bool saves_on_the_way(const Experiment& experiment, const Length& length);

}  // namespace ddp::config
