// Runs lists of transforms on images from Python, and writes the drawn numbers (test_transforms.py).
//   transform_images CASES.json OUT
// A case is {"transforms": […], "derived": bool, "seed", "epoch", "sample", "layout": "planar", "interleaved" or
// "file", "pixels": "FILE", "shape": [c, h, w]}. OUT.json gets [{"shape", "draws"}, …] or {"error"}, OUT the float32
// numbers of all images, one behind the other. A case with "mix", a list, "labels", "classes", "step" and "rank" is of
// a batch of images, shape [n, c, h, w]: the labels' numbers come behind the images', and "draws" is a table.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "datasets/image/image_set.h"
#include "datasets/image/mix.h"

namespace ddp::datasets {
namespace {

// Pixels in memory that are read like a file's pixels.
class FileOfPixels : public format::ImageFile {
 public:
  explicit FileOfPixels(const at::Tensor& pixels) : rows_(pixels.permute({1, 2, 0}).contiguous()) {}
  format::ImageSize size() const override { return {.height = rows_.size(0), .width = rows_.size(1)}; }
  void decode(const format::Rectangle& part, std::uint8_t* pixels) const override {
    const at::Tensor of = rows_.narrow(0, part.top, part.height).narrow(1, part.left, part.width).contiguous();
    std::copy_n(of.const_data_ptr<std::uint8_t>(), of.numel(), pixels);
  }

 private:
  const at::Tensor rows_;
};

at::Tensor read_pixels(const config::Value& given) {
  const auto shape = given.at("shape").get<std::vector<std::int64_t>>();
  at::Tensor pixels = at::empty(shape, at::kByte);
  std::ifstream file(given.at("pixels").get<std::string>(), std::ios::binary);
  file.read(reinterpret_cast<char*>(pixels.mutable_data_ptr<std::uint8_t>()), pixels.numel());
  if (!file) throw usage_error("has too few pixels", given.at("pixels"));
  return pixels;
}

void write_numbers(const at::Tensor& tensor, std::ofstream& to) {
  to.write(static_cast<const char*>(tensor.const_data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
}

config::Value run_mix(const config::Value& given, std::ofstream& numbers) {
  Batch batch(read_pixels(given).to(at::kFloat), at::tensor(given.at("labels").get<std::vector<std::int64_t>>()));
  const MicroBatchPosition place{.step = given.at("step"), .micro_batch = 1, .rank = given.at("rank")};
  config::Value told = config::Value::object();
  Mixer(given.at("mix"), given.at("seed")).mix(batch, place, given.at("classes"), DrawLog(told));
  write_numbers(batch.inputs.front().second.contiguous(), numbers);
  write_numbers(batch.targets.front().second.contiguous(), numbers);
  return {{"shape", given.at("shape")}, {"draws", told}};
}

config::Value run(const config::Value& given, std::ofstream& numbers) {
  const at::Tensor pixels = read_pixels(given);
  const FileOfPixels file(pixels);
  const std::string layout = given.at("layout");
  const auto open = [&](std::int64_t) {
    if (layout == "file") return Image(file);
    if (layout == "planar") return Image(pixels);
    return Image(pixels.permute({1, 2, 0}).contiguous().permute({2, 0, 1}));
  };
  const std::int64_t sample = given.at("sample");
  const std::int64_t epoch = given.at("epoch");
  const Pipeline pipeline(given.at("transforms"), given.at("seed"), given.at("derived"));
  const auto name = [](std::int64_t) { return std::string("image"); };
  const at::Tensor batch = pipeline.batch(at::full({1}, sample, at::kLong), epoch, open, name);
  write_numbers(batch, numbers);
  return {{"shape", batch.sizes().slice(1).vec()}, {"draws", pipeline.draws(open(sample), epoch, sample)}};
}

}  // namespace
}  // namespace ddp::datasets

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: transform_images CASES.json OUT\n";
    return 2;
  }
  std::ifstream in(argv[1]);
  std::ofstream numbers(argv[2], std::ios::binary);
  ddp::config::Value results = ddp::config::Value::array();
  for (const auto& given : ddp::config::Value::parse(in)) {
    try {
      results.push_back(given.contains("mix") ? ddp::datasets::run_mix(given, numbers)
                                              : ddp::datasets::run(given, numbers));
    } catch (const ddp::Error& error) {
      results.push_back({{"error", error.what()}});
    }
  }
  std::ofstream(std::string(argv[2]) + ".json") << results.dump();
  return numbers.good() ? 0 : 1;
}
