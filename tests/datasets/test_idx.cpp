#include "datasets/array_datasets.h"
#include "image_files.h"

namespace ddp::datasets {
namespace {

// Two gray images of 2 x 3 pixels with classes 3 and 1.
struct IdxFolder : ArrayFolder {
  IdxFolder() {
    write("images", idx_file({2, 2, 3}, {'\0', '\x33', '\x66', '\x99', '\xcc', '\xff', 1, 2, 3, 4, 5, 6}));
    write("labels", idx_file({2}, {3, 1}));
  }
  Value options() const { return {{"images", path("images")}, {"labels", path("labels")}}; }
  std::string error() const { return build_error("idx", options()); }
};

}  // namespace

TEST_CASE("images of an IDX file are floats from 0 to 1 with a channel, and have their labels as classes") {
  const IdxFolder folder;
  const auto dataset = built("idx", folder.options());
  REQUIRE(dataset->size() == 2);
  const Batch batch = rows_of(*dataset, {1, 0});
  const at::Tensor bytes = at::tensor({1, 2, 3, 4, 5, 6, 0, 0x33, 0x66, 0x99, 0xcc, 0xff}, at::kByte);
  CHECK(at::equal(batch.inputs.at(0).second, bytes.view({2, 1, 2, 3}).to(at::kFloat).mul(1.0 / 255)));
  CHECK(at::equal(batch.targets.at(0).second, at::tensor({1, 3}, at::kLong)));
  CHECK(dataset->facts().at("num_classes") == 4);
  CHECK(dataset->preprocessing() == Value{{"classes", {"0", "1", "2", "3"}}});
  CHECK(dataset->in_memory());
}

TEST_CASE("an IDX file compressed by gzip has the samples of the plain one") {
  const IdxFolder folder;
  const Batch plain = rows_of(*built("idx", folder.options()), {0, 1});
  const IdxFolder packed;
  for (const std::string name : {"images", "labels"}) {
    packed.write(name, gzip_file(name == "images" ? idx_file({2, 2, 3}, {'\0', '\x33', '\x66', '\x99', '\xcc', '\xff',
                                                                         1, 2, 3, 4, 5, 6})
                                                  : idx_file({2}, {3, 1})));
  }
  const Batch unpacked = rows_of(*built("idx", packed.options()), {0, 1});
  CHECK(at::equal(plain.inputs.at(0).second, unpacked.inputs.at(0).second));
  CHECK(at::equal(plain.targets.at(0).second, unpacked.targets.at(0).second));
}

TEST_CASE("images held by another rank have the same samples") {
  const IdxFolder folder;
  const auto dataset = built("idx", folder.options());
  Context context;
  context.held = dataset->held();
  context.preprocessing = dataset->preprocessing();
  const auto held = built("idx", folder.options(), context);
  CHECK(at::equal(rows_of(*dataset, {1}).inputs.at(0).second, rows_of(*held, {1}).inputs.at(0).second));
  CHECK(dataset->held().front().second.scalar_type() == at::kByte);
  CHECK(held->held().front().second.const_data_ptr() == context.held.front().second.const_data_ptr());
}

TEST_CASE("IDX files that are invalid, cut off, or do not belong together are refused by name") {
  const IdxFolder folder;
  folder.write("labels", idx_file({3}, {3, 1, 1}));
  CHECK(contains(folder.error(), "labels: has 3 labels, but " + folder.path("images") + " has 2 images"));
  folder.write("labels", idx_file({2, 1}, {3, 1}));
  CHECK(contains(folder.error(), "labels: holds numbers of shape [2, 1], not labels"));
  folder.write("labels", idx_file({2}, {3, 1}, 0xd));
  CHECK(contains(folder.error(), "labels: contains numbers that are not 8 bits wide"));
  folder.write("labels", "\x89PNG");
  CHECK(contains(folder.error(), "labels: is not an IDX file"));
  folder.write("labels", idx_file({2}, {3}));
  CHECK(contains(folder.error(), "labels: its header says 2 bytes of numbers, but the file has 1"));
  folder.write("labels", idx_file({2}, {3, 1, 1}));
  CHECK(contains(folder.error(), "the file has more"));
  const std::string packed = gzip_file(idx_file({2}, {3, 1}));
  folder.write("labels", packed.substr(0, packed.size() - 6));
  CHECK(contains(folder.error(), "labels: is damaged, or cut off"));
  folder.write("images", idx_file({0, 2, 3}, ""));
  CHECK(contains(folder.error(), "images: holds no image"));
  folder.write("images", idx_file({4000000000, 4000000000, 4}, ""));
  CHECK(contains(folder.error(), "images: its shape is too large"));
  folder.write("images", idx_file({40000, 40000, 4}, ""));
  CHECK(contains(folder.error(), "images: its header says 6400000000 bytes of numbers, but the file has less"));
}

TEST_CASE("a class that the training data does not have is refused") {
  const IdxFolder folder;
  Context context;
  context.role = Role::validation;
  context.preprocessing = {{"classes", {"0", "1", "2"}}};
  CHECK(contains(error_of([&] { built("idx", folder.options(), context); }), "labels: holds class 3"));
}

}  // namespace ddp::datasets
