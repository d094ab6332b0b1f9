#pragma once

#include <string>
#include <vector>

#include "config/experiment.h"
#include "record/run_directory.h"
#include "record/summary.h"

namespace ddp::runs {

// Returns the vector instructions of ATen's kernels on this machine, by the names of ATEN_CPU_CAPABILITY: "avx512",
// "avx2" or "default" (ATen/native/DispatchStub.cpp).
std::string cpu_capability();

// Returns all that decides about the bits of a run beside its settings. Sources and graphs are the run's copies, if it
// has any.
record::Environment environment_of(const config::Experiment& experiment, const record::RunDirectory& run);

// Describes each difference of program, LibTorch, CPU and threads: cpu_capability: "avx512" then, "avx2" now.
std::vector<std::string> differences_of_place(const record::Environment& then, const record::Environment& now);

// Describes the first difference of data, sources or graphs; "": none differs.
std::string difference_of_content(const record::Environment& then, const record::Environment& now);

}  // namespace ddp::runs
