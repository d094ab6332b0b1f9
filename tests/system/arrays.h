#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "array_files.h"
#include "workspace.h"

namespace ddp::system_test {

// Rows of 4 numbers, and the class of each row, which depends on the numbers.
struct ArrayData {
  explicit ArrayData(int row_count, std::uint32_t seed = 1) : rows(row_count) {
    std::uint32_t state = seed;
    for (int row = 0; row < rows; ++row) {
      float sum = 0;
      for (int i = 0; i < 4; ++i) {
        state = state * 1664525u + 1013904223u;
        x.push_back(static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1);
        sum += x.back();
      }
      y.push_back(sum < -0.5f ? 0 : sum < 0.5f ? 1 : 2);
    }
  }

  std::string x_npy() const { return npy_of("<f4", "(" + std::to_string(rows) + ", 4)", x); }
  std::string y_npy() const { return npy_of("<i8", "(" + std::to_string(rows) + ",)", y); }
  // "x" and, unless left out, "y".
  std::string safetensors(bool with_targets) const {
    const std::string n = std::to_string(rows);
    const std::string x_end = std::to_string(x.size() * sizeof(float));
    std::string header = R"({"x":{"dtype":"F32","shape":[)" + n + R"(,4],"data_offsets":[0,)" + x_end + "]}";
    if (with_targets) {
      header += R"(,"y":{"dtype":"I64","shape":[)" + n + R"(],"data_offsets":[)" + x_end + "," +
                std::to_string(x.size() * sizeof(float) + y.size() * sizeof(std::int64_t)) + "]}";
    }
    header += "}";
    while (header.size() % 8 != 0) header += ' ';
    return little_endian(header.size(), 8) + header + bytes_of_numbers(x) + (with_targets ? bytes_of_numbers(y) : "");
  }

  int rows;
  std::vector<float> x;
  std::vector<std::int64_t> y;
};

// An experiment on a dataset with 4 inputs and 3 classes: 2 ranks, batches of 8, one epoch.
inline std::string classes_of(const std::string& dataset, const std::string& more = "") {
  return "dataset = " + dataset +
         "\nmodel = { name = \"mlp\", in_features = 4, hidden = [8], out_features = 3 }\n"
         "loss = \"cross_entropy\"\noptimizer = { name = \"adam\", lr = 0.01 }\n"
         "device_pool = [\"cpu\", \"cpu\"]\nbatch_size = 8\nthreads = 1\nepochs = 1\n" +
         more;
}

// Training on arrays: 2 ranks, batches of 4, an epoch of 13 steps with a short last batch, a save every 4 steps.
inline const std::string kArrays = R"(
model = { name = "mlp", in_features = 4, hidden = [8], out_features = 3, dropout = 0.25 }
loss = "cross_entropy"
optimizer = { name = "adam", lr = 0.01 }
device_pool = ["cpu", "cpu"]
batch_size = 4
threads = 1
epochs = 2
checkpoint = { save_every_steps = 4 }
)";

// 100 samples in files of each format, and arrays.toml, which trains on one of them.
struct ArrayWorkspace : Workspace {
  explicit ArrayWorkspace(const std::string& format = "npy") {
    const ArrayData data(100);
    std::string dataset = R"(inputs = "x.npy", targets = "y.npy")";
    if (format == "npy") {
      write("x.npy", data.x_npy());
      write("y.npy", data.y_npy());
    } else {
      dataset = "path = \"samples." + format + "\", inputs = \"x\", targets = \"y\"";
      write("samples.npz",
            ZipBytes().add("x.npy", data.x_npy(), /*pack=*/false).add("y.npy", data.y_npy(), /*pack=*/true).bytes());
      write("samples.safetensors", data.safetensors(/*with_targets=*/true));
    }
    write("arrays.toml", "dataset = { name = \"" + format + "\", " + dataset + " }\n" + kArrays);
  }
};

}  // namespace ddp::system_test
