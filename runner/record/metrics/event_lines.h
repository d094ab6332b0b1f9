#pragma once

#include <filesystem>
#include <string>

#include "record/metrics/records.h"

namespace ddp::record {

// The only writer of metrics.jsonl. Each function returns one event as a line with its newline. `seconds`: training
// time of the run. event_reader.h reads the lines.
std::string to_line(const StepRecord& record, double samples_per_second, double seconds);
std::string to_line(const EpochRecord& record, double samples_per_second, double seconds);
std::string to_line(const ValidationRecord& record, double seconds);
std::string to_line(const TestRecord& record, double seconds);
std::string to_line(const SaveRecord& record, double seconds);
std::string to_line(const ResumeRecord& record, double seconds);
std::string to_line(const RestartRecord& record, double seconds);

// Returns a checkpoint's name as events and messages give it: "checkpoints/step-00000046"; "" for an empty path.
std::string name_in_run(const std::filesystem::path& checkpoint);

}  // namespace ddp::record
