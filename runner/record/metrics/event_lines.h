#pragma once

#include <filesystem>
#include <string>

#include "record/metrics/records.h"

namespace ddp::record {

// The one writer of metrics.jsonl: each event as its line, with the newline. `seconds`: training time of the run.
// event_reader.h reads them.
std::string to_line(const StepRecord& record, double samples_per_second, double seconds);
std::string to_line(const EpochRecord& record, double samples_per_second, double seconds);
std::string to_line(const ValidationRecord& record, double seconds);
std::string to_line(const TestRecord& record, double seconds);
std::string to_line(const SaveRecord& record, double seconds);
std::string to_line(const ResumeRecord& record, double seconds);
std::string to_line(const RestartRecord& record, double seconds);

// A checkpoint as lines and people name it: "checkpoints/step-00000046"; empty where there is none.
std::string name_in_run(const std::filesystem::path& checkpoint);

}  // namespace ddp::record
