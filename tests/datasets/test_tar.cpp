#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/installation.h"
#include "datasets/array_datasets.h"
#include "datasets/image/listing.h"
#include "image_files.h"
#include "record/file/atomic_file.h"

namespace ddp::datasets {
namespace fs = std::filesystem;
namespace {

std::string shard_png(std::uint32_t seed) { return png_file(4, 4, 3, noise(48, seed)); }

at::Tensor shard_pixels(std::uint32_t seed) {
  const std::string bytes = as_planes(noise(48, seed), 3);
  at::Tensor pixels = at::empty({3, 4, 4}, at::kByte);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(pixels.mutable_data_ptr<std::uint8_t>()));
  return pixels.to(at::kFloat).mul(1.0 / 255);
}

// Two shards with two samples and one sample, and their own cache folder.
struct ShardFolder : ArrayFolder {
  ShardFolder() {
    write("a-0.tar", tar_file({{"x/1.png", shard_png(1)},
                               {"x/1.cls", "2\n"},
                               {"x/1.json", "{}"},
                               {"x/2.cls", "0"},
                               {"x/2.PNG", shard_png(2)},
                               {"README", "no sample"},
                               {"x/._1.png", "macOS"},
                               {".hidden/3.png", "no sample"}}));
    write("a-1.tar", tar_file({{"./3.left.png", shard_png(9)}, {"./3.jpg", shard_png(3)}, {"./3.cls", " 1 "}}));
    setenv("XDG_CACHE_HOME", path("cache").c_str(), 1);
  }
  ~ShardFolder() { before_.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", before_.c_str(), 1); }
  ShardFolder(const ShardFolder&) = delete;
  ShardFolder& operator=(const ShardFolder&) = delete;

  std::unique_ptr<MapDataset> shards() const { return built("tar", {{"path", path("a-*.tar")}}); }
  std::string error_with(const std::vector<std::pair<std::string, std::string>>& members) const {
    return build_error("tar", {{"path", write("bad.tar", tar_file(members))}});
  }

 private:
  const std::string before_ = std::getenv("XDG_CACHE_HOME") == nullptr ? "" : std::getenv("XDG_CACHE_HOME");
};

}  // namespace

TEST_CASE("archive members with the same name up to the first dot are a sample: its image and its class") {
  const ShardFolder folder;
  const auto dataset = folder.shards();
  REQUIRE(dataset->size() == 3);
  const Batch batch = rows_of(*dataset, {2, 0, 1});
  for (const int i : {0, 1, 2}) {
    const std::uint32_t seeds[] = {3, 1, 2};
    CHECK(at::equal(batch.inputs.at(0).second[i], shard_pixels(seeds[i])));
  }
  CHECK(at::equal(batch.targets.at(0).second, at::tensor({1, 2, 0}, at::kLong)));
  CHECK(dataset->facts().at("num_classes") == 3);

  Context context;
  context.held = dataset->held();
  context.preprocessing = dataset->preprocessing();
  const auto held = built("tar", {{"path", folder.path("a-*.tar")}}, context);
  CHECK(at::equal(rows_of(*held, {2, 0, 1}).inputs.at(0).second, batch.inputs.at(0).second));
}

TEST_CASE("the file endings of images and classes can be named, best first") {
  const ShardFolder folder;
  const auto dataset = built("tar", {{"path", folder.path("a-1.tar")}, {"image", "left.png;jpg"}, {"target", "cls"}});
  CHECK(at::equal(rows_of(*dataset, {0}).inputs.at(0).second[0], shard_pixels(9)));
}

TEST_CASE("samples without image or class, classes that are not numbers and duplicate members are refused") {
  const ShardFolder folder;
  const std::string png = shard_png(1);
  CHECK(contains(folder.error_with({{"1.txt", "x"}, {"1.cls", "0"}}), "bad.tar: the sample \"1\" has no image"));
  CHECK(contains(folder.error_with({{"1.png", png}, {"2.cls", "0"}}), "the sample \"1\" has no class"));
  CHECK(contains(folder.error_with({{"1.png", png}, {"1.cls", "cat"}}), "1.png is not a whole number"));
  CHECK(contains(folder.error_with({{"1.png", png}, {"1.cls", "-1"}}), "1.png is not a whole number"));
  CHECK(contains(folder.error_with({{"1.png", png}, {"1.cls", ""}}), "1.png is not a whole number"));
  CHECK(contains(folder.error_with({{"1.png", png}, {"1.cls", "99999999"}}), "1.png is not a whole number"));
  CHECK(contains(folder.error_with({{"1.png", png}, {"1.PNG", png}, {"1.cls", "0"}}), "\"1.PNG\" twice"));
  CHECK(contains(folder.error_with({{"README", "x"}}), "bad.tar: holds no image"));
}

TEST_CASE("the index of an archive's members is kept in the cache until the archive's size or time changes") {
  const ShardFolder folder;
  const fs::path archive = folder.path("a-0.tar");
  const auto members = members_of(archive, *format::open_local(archive));
  REQUIRE(members.size() == 8);
  const fs::path index = index_file_of(archive);
  REQUIRE(fs::exists(index));
  CHECK(fs::relative(index, folder.path("cache")).begin()->string() != "..");

  // Other bytes with the same size and time: the index is trusted.
  const auto time = fs::last_write_time(archive);
  const auto size = fs::file_size(archive);
  std::ofstream(archive, std::ios::binary) << std::string(size, 'x');
  fs::last_write_time(archive, time);
  CHECK(members_of(archive, *format::open_local(archive)).size() == 8);
  fs::last_write_time(archive, time + std::chrono::nanoseconds(1));
  CHECK(contains(error_of([&] { members_of(archive, *format::open_local(archive)); }), "a-0.tar"));
}

TEST_CASE(
    "an index that is damaged, cut off or of another archive is made again, and failing to keep one is not an error") {
  const ShardFolder folder;
  const fs::path archive = folder.path("a-0.tar");
  const auto members = members_of(archive, *format::open_local(archive));
  const fs::path index = index_file_of(archive);
  const std::string kept = record::read_text(index);
  std::string flipped = kept;
  flipped[kept.size() - 20] ^= 1;
  for (const std::string& text :
       {std::string(), kept.substr(0, kept.size() / 2), flipped, kept + "x", std::string("{}")}) {
    std::ofstream(index, std::ios::binary) << text;
    CHECK(members_of(archive, *format::open_local(archive)).size() == members.size());
    CHECK(record::read_text(index) == kept);
  }
  fs::remove_all(folder.path("cache"));
  folder.write("cache", "a file in its place");
  CHECK(members_of(archive, *format::open_local(archive)).size() == members.size());
}

}  // namespace ddp::datasets
