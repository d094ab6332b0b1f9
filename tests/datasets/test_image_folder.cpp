#include <filesystem>

#include "datasets/array_datasets.h"
#include "datasets/image/listing.h"
#include "image_files.h"

namespace ddp::datasets {
namespace fs = std::filesystem;
namespace {

using Names = std::vector<std::string>;

// Images of 5 x 4 pixels: cat/{a,b}.png, dog/c.png.
struct ImagesFolder : ArrayFolder {
  ImagesFolder() {
    write("cat/a.png", image(1));
    write("cat/b.png", image(2));
    write("dog/c.png", image(3));
  }
  static std::string image(std::uint32_t seed) { return png_file(5, 4, 3, noise(60, seed)); }
  Value options(const Value& more = Value::object()) const {
    Value all = {{"path", path("")}};
    all.update(more);
    return all;
  }
};

at::Tensor pixels_of(std::uint32_t seed) {
  const std::string bytes = as_planes(noise(60, seed), 3);
  at::Tensor pixels = at::empty({3, 4, 5}, at::kByte);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(pixels.mutable_data_ptr<std::uint8_t>()));
  return pixels.to(at::kFloat).mul(1.0 / 255);
}

}  // namespace

TEST_CASE("images are listed as torchvision's ImageFolder lists them, without hidden files and folders") {
  const ArrayFolder folder;
  for (const char* name :
       {"b/z.PNG", "b/a.txt", "b/y.jpeg", "b-c/1.webp", "b/sub/2.JPG", "b/sub-b/3.tiff", "B/x.bmp", "loose.png",
        "b/sub/deep/4.ppm", "b/._z.PNG", "b/.ipynb_checkpoints/z.png", ".ipynb_checkpoints/z.png", "b-c/2.gif"}) {
    folder.write(name, "x");
  }
  fs::create_directory_symlink(folder.path("B"), folder.path("b/linked"));
  const FolderListing listing = list_folder(folder.path(""));
  CHECK(listing.classes == Names{"B", "b", "b-c"});
  CHECK(listing.files == Names{"B/x.bmp", "b/y.jpeg", "b/z.PNG", "b/linked/x.bmp", "b/sub/2.JPG", "b/sub-b/3.tiff",
                               "b/sub/deep/4.ppm", "b-c/1.webp"});
  CHECK(listing.targets == std::vector<std::int64_t>{0, 1, 1, 1, 1, 1, 1, 2});
  CHECK(listing.warnings ==
        Names{"dataset.path has 2 .bmp, 1 .ppm, 1 .tiff: such files do not decode; convert them to PNG",
              "dataset.path has 1 .gif: such files are left out, as by torchvision's ImageFolder; "
              "convert them to PNG"});
  CHECK(list_images(folder.path("B")) == Names{"x.bmp"});
  CHECK(list_images(folder.path("b/.ipynb_checkpoints")) == Names{"z.png"});
}

TEST_CASE("a folder without classes, a class without images and a circular link are refused by name") {
  const ArrayFolder folder;
  folder.write("a/x.txt", "x");
  const auto error = [&](const std::string& path) { return error_of([&] { list_folder(path); }); };
  CHECK(contains(error(folder.path("a")), folder.path("a") + ": contains no folder"));
  CHECK(contains(error(folder.path("")), "a: is the folder of a class but contains no image"));
  CHECK(contains(error(folder.path("none")), "none: cannot be listed: No such file"));
  folder.write("a/x.png", "x");
  fs::create_directory_symlink(folder.path(""), folder.path("a/up"));
  CHECK(contains(error(folder.path("")), "is a link to a folder that contains it"));
}

TEST_CASE("a folder of images gives their pixels and the class numbers of their folders") {
  const ImagesFolder folder;
  const auto dataset = built("image_folder", folder.options());
  REQUIRE(dataset->size() == 3);
  const Batch batch = rows_of(*dataset, {2, 0});
  CHECK(at::equal(batch.inputs.at(0).second[0], pixels_of(3)));
  CHECK(at::equal(batch.inputs.at(0).second[1], pixels_of(1)));
  CHECK(at::equal(batch.targets.at(0).second, at::tensor({1, 0}, at::kLong)));
  CHECK(dataset->preprocessing() == Value{{"classes", {"cat", "dog"}}});
  CHECK_FALSE(dataset->in_memory());

  Context context;
  context.held = dataset->held();
  context.preprocessing = dataset->preprocessing();
  fs::remove(folder.path("cat/b.png"));  // a rank does not list the folder again
  const auto held = built("image_folder", folder.options(), context);
  CHECK(held->size() == 3);
  CHECK(at::equal(rows_of(*held, {2}).inputs.at(0).second[0], pixels_of(3)));
}

TEST_CASE("the classes of other data are the training's classes, matched by name") {
  const ImagesFolder folder;
  folder.write("other/dog/1.png", ImagesFolder::image(7));
  Context context;
  context.role = Role::validation;
  context.preprocessing = {{"classes", {"bird", "cat", "dog"}}};
  const Value options = {{"path", folder.path("other")}};
  CHECK(at::equal(rows_of(*built("image_folder", options, context), {0}).targets.at(0).second,
                  at::tensor({2}, at::kLong)));
  folder.write("other/fish/1.png", ImagesFolder::image(8));
  CHECK(contains(error_of([&] { built("image_folder", options, context); }), "other/fish: is the folder of a class"));
}

TEST_CASE("a file that does not decode is an error with its name, or is left out of its batch and listed") {
  const ImagesFolder folder;
  folder.write("cat/b.png", ImagesFolder::image(2).substr(0, 60));
  folder.write("dog/d.png", "no image");
  const auto strict = built("image_folder", folder.options());
  CHECK(contains(error_of([&] { rows_of(*strict, {0, 1}); }), "cat/b.png"));
  const auto lenient = built("image_folder", folder.options({{"on_bad", "skip"}}));
  const Batch batch = rows_of(*lenient, {0, 3, 1, 2});
  CHECK(batch.samples() == 2);
  CHECK(at::equal(batch.inputs.at(0).second[1], pixels_of(3)));
  CHECK(at::equal(batch.targets.at(0).second, at::tensor({0, 1}, at::kLong)));
  CHECK(lenient->left_out() == Names{folder.path("cat/b.png"), folder.path("dog/d.png")});
  const std::string none = error_of([&] { rows_of(*lenient, {3, 1}); });
  CHECK(contains(none, "dog/d.png: does not decode, like every other image of its batch of 2"));

  Context context;
  context.role = Role::prediction;
  context.preprocessing = {{"classes", {"cat", "dog"}}};
  const auto predicted = built("image_folder", folder.options({{"on_bad", "skip"}}), context);
  CHECK(predicted->size() == 4);
  CHECK(rows_of(*predicted, {0, 1}).samples() == 1);
  CHECK(predicted->left_out() == Names{folder.path("cat/b.png")});
}

TEST_CASE("images of different sizes are an error that names one, also if bad images are left out") {
  const ImagesFolder folder;
  folder.write("dog/wide.png", png_file(6, 4, 3, noise(72, 1)));
  for (const char* on_bad : {"error", "skip"}) {
    const auto dataset = built("image_folder", folder.options({{"on_bad", on_bad}}));
    CHECK(contains(error_of([&] { rows_of(*dataset, {0, 3}); }), "dog/wide.png"));
    CHECK(dataset->left_out().empty());
  }
}

}  // namespace ddp::datasets
