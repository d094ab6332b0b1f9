#include <cstring>
#include <fstream>
#include <random>

#include <stdlib.h>
#include <unistd.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>

#include "base/error.h"
#include "catch.h"
#include "checkpoint/snapshot_bytes.h"
#include "errors.h"
#include "format/safetensors.h"
#include "record/file/input_file.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::checkpoint {
namespace fs = std::filesystem;
namespace {

// One file in its own folder.
struct ScratchFile : ScratchFolder {
  fs::path path() const { return folder() / "x.safetensors"; }
  void write(const std::string& bytes) const { ScratchFolder::write("x.safetensors", bytes); }
  std::string read() const { return content_of(path()); }
};

record::Digest write_image(const fs::path& file, const NamedTensors& tensors) {
  SnapshotBytes kept;
  kept.begin(tensors);
  kept.finish();
  return kept.write(file);
}

// A file with this header and this many bytes of data.
std::string bytes_of(const std::string& header, std::size_t data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + std::string(data, '\1');
}

// The resident bytes of this process.
std::int64_t resident() {
  std::int64_t size = 0;
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> size >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// Returns true if reading throws an error that names the file.
bool is_refused(const ScratchFile& file, const std::string& bytes) {
  file.write(bytes);
  return contains(error_of([&] { format::read_safetensors(file.path()); }), "x.safetensors");
}

NamedTensors sample() {
  return {{"0.weight", at::randn({3, 5})},
          {"0.bias", at::randn({3}).to(at::kHalf)},
          {"tracked", at::arange(1, at::kLong).squeeze()},
          {"mask", at::arange(4, at::kLong).gt(1)},
          {"empty", at::empty({0, 7})},
          {"name \"with\" \xc3\xa4", at::randn({2}, at::kDouble)},
          {"bf", at::randn({4}).to(at::kBFloat16)}};
}

}  // namespace

TEST_CASE("tensors of every type read back bit for bit from a safetensors file") {
  const ScratchFile file;
  const NamedTensors written = sample();
  const record::Digest digest_written = write_image(file.path(), written);
  CHECK(digest_written.bytes == fs::file_size(file.path()));
  CHECK(digest_written.hash == record::hash_hex_of(file.path()));
  const NamedTensors read = format::read_safetensors(file.path());
  REQUIRE(read.size() == written.size());
  for (const auto& [name, tensor] : written) {
    INFO(name);
    const auto found = std::find_if(read.begin(), read.end(), [&](const auto& item) { return item.first == name; });
    REQUIRE(found != read.end());
    CHECK(found->second.scalar_type() == tensor.scalar_type());
    CHECK(found->second.sizes() == tensor.sizes());
    CHECK(at::equal(found->second, tensor));
  }
}

TEST_CASE("a file mapped into memory or written without an image has the same content") {
  const ScratchFile file;
  write_image(file.path(), sample());
  const std::string by_image = file.read();
  format::write_safetensors(file.path(), sample());
  CHECK(file.read().size() == by_image.size());
  const NamedTensors read = format::read_safetensors(file.path());
  const NamedTensors mapped = format::map_safetensors(file.path());
  REQUIRE(mapped.size() == read.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    INFO(read[i].first);
    CHECK(mapped[i].first == read[i].first);
    CHECK(mapped[i].second.scalar_type() == read[i].second.scalar_type());
    CHECK(at::equal(mapped[i].second, read[i].second));
  }
}

TEST_CASE("a mapped tensor takes no memory before it is read and outlives its file name") {
  const ScratchFile file;
  const at::Tensor tensor = at::randn({8'000'000});
  format::write_safetensors(file.path(), {{"x", tensor}});
  const std::int64_t before = resident();
  const at::Tensor mapped = format::map_safetensors(file.path()).at(0).second;
  CHECK(resident() - before < static_cast<std::int64_t>(tensor.nbytes()) / 10);
  fs::remove(file.path());
  CHECK(at::equal(mapped, tensor));
}

TEST_CASE("an image that held more data before is written with its current content") {
  const ScratchFile file;
  SnapshotBytes kept;
  for (const std::int64_t size : {3'000'001, 1'000'003, 5, 2'000'000}) {
    const at::Tensor tensor = at::randn({size});
    kept.begin({{"x", tensor}});
    kept.finish();
    const record::Digest written = kept.write(file.path());
    CHECK(written.bytes == fs::file_size(file.path()));
    CHECK(written.hash == record::hash_hex_of(file.path()));
    CHECK(at::equal(format::read_safetensors(file.path()).at(0).second, tensor));
  }
}

TEST_CASE("memory reserved for an image is present before anything is copied") {
  const ScratchFile file;
  const at::Tensor tensor = at::randn({8'000'000});
  const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
  SnapshotBytes kept;
  const std::int64_t before = resident();
  kept.reserve({{"x", tensor}});
  const std::int64_t reserved = resident();
  CHECK(reserved - before > bytes * 9 / 10);
  kept.begin({{"x", tensor}});
  kept.finish();
  CHECK(resident() - reserved < bytes / 10);
  kept.write(file.path());
  CHECK(at::equal(format::read_safetensors(file.path()).at(0).second, tensor));
}

TEST_CASE("a tensor that changes after it was taken is written with its old values") {
  const ScratchFile file;
  SnapshotBytes kept;
  const at::Tensor tensor = at::arange(7, at::kFloat);
  kept.begin({{"x", tensor}});
  kept.finish();
  tensor.fill_(-1);
  kept.write(file.path());
  CHECK(at::equal(format::read_safetensors(file.path()).at(0).second, at::arange(7, at::kFloat)));
}

TEST_CASE("a strided tensor is written in the order of its values") {
  const ScratchFile file;
  const at::Tensor strided = at::arange(6, at::kFloat).view({2, 3}).t();
  write_image(file.path(), {{"x", strided}});
  CHECK(at::equal(format::read_safetensors(file.path()).at(0).second, strided));
}

TEST_CASE("data starts at a multiple of 8 bytes and the header has the members that Python expects") {
  const ScratchFile file;
  write_image(file.path(), {{"x", at::arange(2, at::kFloat)}});
  const std::string bytes = file.read();
  const std::string header =
      "{\"__metadata__\":{\"format\":\"pt\"},\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
  CHECK(bytes.substr(8, header.size()) == header);
  CHECK((bytes.size() - 8) % 8 == 0);
}

TEST_CASE("a safetensors file that is cut off anywhere is refused") {
  const ScratchFile file;
  write_image(file.path(), sample());
  const std::string whole = file.read();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size << " of " << whole.size() << " bytes");
    REQUIRE(is_refused(file, whole.substr(0, size)));
  }
}

TEST_CASE("flipped bits in a safetensors header give an error or tensors but never a crash") {
  const ScratchFile file;
  write_image(file.path(), sample());
  const std::string whole = file.read();
  std::uint64_t header = 0;
  std::memcpy(&header, whole.data(), 8);
  std::mt19937 random(17);
  int refused = 0;
  for (int time = 0; time < 4000; ++time) {
    std::string bytes = whole;
    for (int flips = 1 + time % 3; flips > 0; --flips) {
      bytes[random() % (8 + header)] ^= static_cast<char>(1 << random() % 8);
    }
    file.write(bytes);
    try {
      std::uint64_t size = 0;
      for (const auto& [name, tensor] : format::read_safetensors(file.path())) size += tensor.nbytes();
      CHECK(size <= bytes.size());
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("sizes that exceed a safetensors file are refused without allocating memory for them") {
  const ScratchFile file;
  const auto tensor = [](const std::string& shape, const std::string& offsets, const std::string& dtype = "F32") {
    return bytes_of("{\"x\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}",
                    16);
  };
  CHECK_FALSE(is_refused(file, tensor("[4]", "[0,16]")));
  CHECK(is_refused(file, tensor("[5]", "[0,16]")));
  CHECK(is_refused(file, tensor("[4]", "[0,20]")));
  CHECK(is_refused(file, tensor("[4]", "[4,20]")));
  CHECK(is_refused(file, tensor("[4]", "[16,0]")));
  CHECK(is_refused(file, tensor("[4]", "[-16,0]")));
  CHECK(is_refused(file, tensor("[-4]", "[0,16]")));
  CHECK(is_refused(file, tensor("[1099511627776]", "[0,4398046511104]")));
  CHECK(is_refused(file, tensor("[4611686018427387904,4]", "[0,0]")));
  CHECK(is_refused(file, tensor("[9223372036854775807,9223372036854775807]", "[0,16]")));
  CHECK(is_refused(file, tensor("[18446744073709551615]", "[0,16]")));
  CHECK(is_refused(file, tensor("[4.0]", "[0.5,16]")));
  CHECK(is_refused(file, tensor("4", "[0,16]")));
  CHECK(is_refused(file, tensor("[4]", "[0]")));
  CHECK(is_refused(file, tensor("[4]", "[0,16]", "F31")));
  CHECK(is_refused(file, std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)));
  CHECK(is_refused(file, bytes_of("[]", 0)));
  CHECK(is_refused(file, bytes_of("{\"x\":3}", 0)));
  CHECK(is_refused(file, bytes_of(std::string(1 << 20, '['), 0)));
}

TEST_CASE("a safetensors file whose tensors overlap or leave gaps is refused") {
  const ScratchFile file;
  // Two tensors of 8 bytes each, at these offsets in the data.
  const auto two = [](const std::string& first, const std::string& second, std::size_t data) {
    const std::string entry = ":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":";
    return bytes_of("{\"a\"" + entry + first + "},\"b\"" + entry + second + "}}", data);
  };
  CHECK_FALSE(is_refused(file, two("[0,8]", "[8,16]", 16)));
  CHECK_FALSE(is_refused(file, two("[8,16]", "[0,8]", 16)));
  CHECK(is_refused(file, two("[0,8]", "[0,8]", 8)));
  CHECK(is_refused(file, two("[0,8]", "[0,8]", 16)));
  CHECK(is_refused(file, two("[0,8]", "[4,12]", 12)));
  CHECK(is_refused(file, two("[0,8]", "[4,12]", 16)));
  CHECK(is_refused(file, two("[0,8]", "[12,20]", 20)));
  CHECK(is_refused(file, two("[4,12]", "[12,20]", 20)));
  CHECK(is_refused(file, two("[0,8]", "[8,16]", 24)));
}

TEST_CASE("a tensor of a type that is not supported is named with the types that are, and the file is not damaged") {
  const ScratchFile file;
  for (const std::string dtype : {"F8_E4M3", "C64"}) {
    file.write(bytes_of("{\"w\":{\"dtype\":\"" + dtype + "\",\"shape\":[16],\"data_offsets\":[0,16]}}", 16));
    const std::string error = error_of([&] { format::read_safetensors(file.path()); });
    CHECK(contains(error, "tensor \"w\" has the dtype \"" + dtype + "\", which is not supported"));
    CHECK(contains(error, "supported: BF16, BOOL, F16, F32"));
    CHECK_FALSE(contains(error, "damaged"));
  }
}

}  // namespace ddp::checkpoint
