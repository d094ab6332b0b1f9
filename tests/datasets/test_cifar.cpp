#include <filesystem>

#include "datasets/array_datasets.h"
#include "image_files.h"

namespace ddp::datasets {
namespace {

// A record of an image with noise from this seed.
std::string cifar_record(const std::string& labels, std::uint32_t seed) { return labels + noise(3 * 32 * 32, seed); }

struct CifarFolder : ArrayFolder {
  CifarFolder() {
    for (int i = 1; i <= 5; ++i) {
      write("cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin",
            cifar_record({static_cast<char>(i)}, static_cast<std::uint32_t>(i)));
    }
    write("cifar-10-batches-bin/test_batch.bin", cifar_record({9}, 10) + cifar_record({'\0'}, 11));
    write("cifar-10-batches-bin/batches.meta.txt",
          "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");
    write("fine/train.bin", cifar_record({19, 99}, 1) + cifar_record({0, 5}, 2));
    write("fine/test.bin", cifar_record({1, 2}, 3));
  }
};

at::Tensor cifar_pixels(std::uint32_t seed) {
  const std::string bytes = noise(3 * 32 * 32, seed);
  at::Tensor pixels = at::empty({3, 32, 32}, at::kByte);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(pixels.mutable_data_ptr<std::uint8_t>()));
  return pixels.to(at::kFloat).mul(1.0 / 255);
}

}  // namespace

TEST_CASE("the five files of CIFAR-10 are the training images in their order, with the names of its classes") {
  const CifarFolder folder;
  for (const std::string& path : {folder.path("."), folder.path("cifar-10-batches-bin")}) {
    const auto dataset = built("cifar10", {{"path", path}});
    REQUIRE(dataset->size() == 5);
    const Batch batch = rows_of(*dataset, {4, 0});
    CHECK(at::equal(batch.inputs.at(0).second[0], cifar_pixels(5)));
    CHECK(at::equal(batch.inputs.at(0).second[1], cifar_pixels(1)));
    CHECK(at::equal(batch.targets.at(0).second, at::tensor({5, 1}, at::kLong)));
    CHECK(dataset->describe().classes.at(5) == "dog");
    CHECK(dataset->class_name(9) == "truck");
  }
}

TEST_CASE("train = false reads CIFAR's test images") {
  const CifarFolder folder;
  const auto test = built("cifar10", {{"path", folder.path(".")}, {"train", false}});
  CHECK(at::equal(rows_of(*test, {0, 1}).targets.at(0).second, at::tensor({9, 0}, at::kLong)));
  CHECK(at::equal(rows_of(*test, {1}).inputs.at(0).second[0], cifar_pixels(11)));
}

TEST_CASE("the classes of CIFAR-100 are the fine ones") {
  const CifarFolder folder;
  const auto dataset = built("cifar100", {{"path", folder.path("fine")}});
  CHECK(at::equal(rows_of(*dataset, {0, 1}).targets.at(0).second, at::tensor({99, 5}, at::kLong)));
  CHECK(at::equal(rows_of(*dataset, {1}).inputs.at(0).second[0], cifar_pixels(2)));
  CHECK(dataset->facts().at("num_classes") == 100);
  CHECK(dataset->class_name(99) == "99");
}

TEST_CASE("CIFAR files that are missing, cut off, or of another kind are refused by name") {
  const CifarFolder folder;
  CHECK(contains(build_error("cifar10", {{"path", folder.path("fine")}}), "fine/data_batch_1.bin: does not exist"));
  folder.write("cifar-10-batches-bin/data_batch_3.bin", "abc");
  CHECK(contains(build_error("cifar10", {{"path", folder.path(".")}}), "data_batch_3.bin: has 3 bytes"));
  folder.write("cifar-10-batches-bin/data_batch_3.bin", cifar_record({10}, 1));
  CHECK(contains(build_error("cifar10", {{"path", folder.path(".")}}), "holds class 10, but the classes are 0 to 9"));
  folder.write("cifar-10-batches-bin/data_batch_3.bin", "");
  CHECK(contains(build_error("cifar10", {{"path", folder.path(".")}}), "data_batch_3.bin: has 0 bytes"));
}

}  // namespace ddp::datasets
