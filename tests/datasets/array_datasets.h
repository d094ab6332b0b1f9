#pragma once

#include <algorithm>
#include <bit>
#include <limits>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include "array_files.h"
#include "catch.h"
#include "datasets/dataset.h"
#include "errors.h"
#include "format/safetensors.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::datasets {

using config::Value;

// Array files and the datasets that read them.
using ArrayFolder = ScratchFolder;

inline std::unique_ptr<MapDataset> built(const std::string& name, const Value& options, const Context& context = {}) {
  std::unique_ptr<Dataset> dataset = registry().build(name, options, context);
  auto* map = dynamic_cast<MapDataset*>(dataset.get());
  REQUIRE(map != nullptr);
  dataset.release();
  return std::unique_ptr<MapDataset>(map);
}

inline std::string build_error(const std::string& name, const Value& options) {
  return error_of([&] { registry().build(name, options, Context{}); });
}

inline Batch rows_of(const MapDataset& dataset, const std::vector<std::int64_t>& rows) {
  return dataset.gather(at::tensor(rows, at::kLong), /*epoch=*/0);
}

template <class Number>
std::string swapped_bytes(std::vector<Number> numbers) {
  std::string bytes = bytes_of_numbers(numbers);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(Number)) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + sizeof(Number)));
  }
  return bytes;
}

inline const std::vector<float> kInputs{0.5F, 1, 2, 3, 4, 5, 6, 7};  // [4, 2]
inline const std::vector<std::int64_t> kTargets{2, 0, 1, 0};

inline std::string inputs_file() { return npy_of("<f4", "(4, 2)", kInputs); }
inline std::string targets_file() { return npy_of("<i8", "(4,)", kTargets); }

}  // namespace ddp::datasets
