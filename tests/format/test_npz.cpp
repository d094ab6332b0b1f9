#include <cstring>
#include <random>

#include "array_files.h"
#include "catch.h"
#include "errors.h"
#include "format/npz.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::format {
namespace {

const std::vector<float> kValues{1, 2, 3, 4};
const std::string kArray = npy_of("<f4", "(4,)", kValues);

// Archives of one test, each of which overwrites the previous one.
class Archive {
 public:
  NpzFile open(const std::string& bytes) const {
    scratch_.write("x.npz", bytes);
    return NpzFile(scratch_.folder() / "x.npz");
  }
  std::string error(const std::string& bytes) const {
    return error_of([&] { read(open(bytes)); });
  }
  // Reads every array and returns the bytes.
  static std::uint64_t read(const NpzFile& file) {
    std::uint64_t bytes = 0;
    for (const std::string& name : file.names()) {
      const Array array = file.is_deflated(name) ? file.from_inflated(name, file.inflated(name)) : file.stored(name);
      bytes += bytes_of(array.shape, size_of(array.element));
    }
    return bytes;
  }

 private:
  ScratchFolder scratch_;
};

bool holds_values(const Array& array) {
  return array.shape == std::vector<std::int64_t>{4} && std::memcmp(array.data, kValues.data(), 16) == 0;
}

}  // namespace

TEST_CASE("stored and deflated arrays are found by their names, also in the format of large archives") {
  const Archive archive;
  for (const bool zip64 : {false, true}) {
    INFO(zip64);
    ZipBytes zip;
    zip.add("x.npy", kArray, /*pack=*/false, zip64).add("with blanks.npy", kArray, /*pack=*/true, zip64);
    zip.add("readme.txt", "no array", /*pack=*/false);
    const NpzFile file = archive.open(zip.bytes(zip64, "a comment"));
    CHECK(file.names() == std::vector<std::string>{"with blanks", "x"});
    CHECK_FALSE(file.is_deflated("x"));
    CHECK(holds_values(file.stored("x")));
    REQUIRE(file.is_deflated("with blanks"));
    CHECK(holds_values(file.from_inflated("with blanks", file.inflated("with blanks"))));
  }
}

TEST_CASE("a stored array lies in the memory pages of the file and outlives the archive object") {
  const Archive archive;
  const Array array = archive.open(ZipBytes().add("x.npy", kArray, /*pack=*/false).bytes()).stored("x");
  CHECK(holds_values(array));
}

TEST_CASE("an unknown array name is refused with the names in the archive") {
  const Archive archive;
  const NpzFile file =
      archive.open(ZipBytes().add("inputs.npy", kArray, false).add("targets.npy", kArray, true).bytes());
  CHECK(contains(error_of([&] { file.stored("labels"); }), "the arrays in it: inputs, targets"));
  CHECK(contains(error_of([&] { file.is_deflated("input"); }), "did you mean \"inputs\"?"));
}

TEST_CASE("members that cannot be read are refused by their names") {
  const Archive archive;
  const auto raw = [&](int method, int flags) {
    return archive.error(ZipBytes().add_raw("x.npy", kArray, 0, kArray.size(), method, false, flags).bytes());
  };
  CHECK(contains(raw(12, 0), "its member \"x.npy\" is compressed by method 12"));
  CHECK(contains(raw(0, 1), "its member \"x.npy\" is encrypted"));
  CHECK(contains(archive.error(ZipBytes().add("x.npy", kArray, false).add("x.npy", kArray, true).bytes()),
                 "it has two arrays with the name \"x\""));
  CHECK(contains(archive.error(ZipBytes().add("x.npy", npy_file(npy_dict("|O", "(1,)"), "x"), true).bytes()),
                 "x.npz: \"x\": contains Python objects"));
  CHECK(contains(archive.error("no archive"), "x.npz: is not a zip archive, or cut off"));
}

TEST_CASE("a deflated array with another checksum or another length is refused") {
  const Archive archive;
  const std::string packed = deflated(kArray);
  const auto crc = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(kArray.data()), static_cast<uInt>(kArray.size())));
  const auto raw = [&](const std::string& bytes, std::uint32_t sum, std::uint64_t size) {
    return archive.error(ZipBytes().add_raw("x.npy", bytes, sum, size, 8).bytes());
  };
  CHECK(raw(packed, crc, kArray.size()).empty());
  CHECK(contains(raw(packed, crc + 1, kArray.size()), "its checksum differs"));
  CHECK(contains(raw(packed, crc, kArray.size() - 1), "is longer than the archive says"));
  CHECK(contains(raw(packed, crc, kArray.size() + 1), "is damaged"));
  CHECK(contains(raw(packed.substr(0, packed.size() - 1), crc, kArray.size()), "is damaged"));
}

TEST_CASE("an archive that unpacks to more than its header says takes no memory for it") {
  const Archive archive;
  // The header announces 16 bytes; endless zeros follow.
  const std::string bomb = kArray + std::string(50 << 20, '\0');
  CHECK(contains(archive.error(ZipBytes().add("x.npy", bomb, true).bytes()), "its header does not match its size"));
  const std::string claims = npy_file(npy_dict("<f4", "(1099511627776,)"), bytes_of_numbers(kValues));
  const std::uint64_t claimed = claims.size() - 16 + (4ULL << 40);
  CHECK(contains(archive.error(ZipBytes().add_raw("x.npy", deflated(claims), 0, claimed, 8, true).bytes()),
                 "claims an impossible size"));
}

TEST_CASE("an archive that is cut off anywhere is refused") {
  const Archive archive;
  ZipBytes zip;
  zip.add("x.npy", kArray, false).add("y.npy", kArray, true);
  for (const bool zip64 : {false, true}) {
    const std::string whole = zip.bytes(zip64);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      INFO(size << " of " << whole.size() << " bytes");
      REQUIRE_FALSE(archive.error(whole.substr(0, size)).empty());
    }
  }
}

TEST_CASE("flipped bits in an archive give an error or arrays but never a crash") {
  const Archive archive;
  ZipBytes zip;
  zip.add("x.npy", kArray, false, true).add("y.npy", kArray, true);
  const std::string whole = zip.bytes(/*zip64=*/true);
  std::mt19937 random(11);
  int refused = 0;
  for (int time = 0; time < 10'000; ++time) {
    std::string bytes = whole;
    for (int flips = 1 + time % 3; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    try {
      const std::uint64_t unpacked = Archive::read(archive.open(bytes));
      CHECK(unpacked <= 1032 * bytes.size());
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 2000);
}

}  // namespace ddp::format
