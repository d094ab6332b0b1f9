#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "array_files.h"
#include "workspace.h"

namespace ddp::system_test {

// 100 samples of 4 numbers, each of one of three classes.
struct Samples {
  std::vector<float> inputs = {};
  std::vector<std::int64_t> targets = {};

  Samples() {
    for (int row = 0; row < 100; ++row) {
      for (int column = 0; column < 4; ++column) inputs.push_back(static_cast<float>((row * 7 + column * 3) % 11) / 11);
      targets.push_back(row % 3);
    }
  }
};

// Training on arrays: 2 ranks, batches of 4, an epoch of 13 steps whose last batch is short, a save every 4 steps.
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

// The samples in files of each format, and arrays.toml, which trains on one of them.
struct ArrayWorkspace : Workspace {
  explicit ArrayWorkspace(const std::string& format = "npy") {
    const Samples samples;
    const std::string x = npy_of("<f4", "(100, 4)", samples.inputs);
    const std::string y = npy_of("<i8", "(100,)", samples.targets);
    std::string dataset = R"(inputs = "x.npy", targets = "y.npy")";
    if (format == "npy") {
      write("x.npy", x);
      write("y.npy", y);
    } else {
      dataset = "path = \"samples." + format + "\", inputs = \"x\", targets = \"y\"";
      write("samples.npz", ZipBytes().add("x.npy", x, /*pack=*/false).add("y.npy", y, /*pack=*/true).bytes());
      write("samples.safetensors", safetensors(samples));
    }
    write("arrays.toml", "dataset = { name = \"" + format + "\", " + dataset + " }\n" + kArrays);
  }

 private:
  static std::string safetensors(const Samples& samples) {
    const std::string header = R"({"x":{"dtype":"F32","shape":[100,4],"data_offsets":[0,1600]},)"
                               R"("y":{"dtype":"I64","shape":[100],"data_offsets":[1600,2400]}})";
    const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
    return little_endian(padded.size(), 8) + padded + bytes_of_numbers(samples.inputs) +
           bytes_of_numbers(samples.targets);
  }
};

}  // namespace ddp::system_test
