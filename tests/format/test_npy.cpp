#include <algorithm>
#include <cstring>
#include <random>

#include "array_files.h"
#include "catch.h"
#include "errors.h"
#include "format/npy.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::format {
namespace {

Array read_npy(const std::string& bytes) { return npy_array(bytes, nullptr, "x.npy"); }
std::string npy_error(const std::string& bytes) {
  return error_of([&] { read_npy(bytes); });
}

const std::vector<float> kSix{0, 1, 2, 3, 4, 5};

std::string bytes_at(const Array& array, std::initializer_list<std::int64_t> place) {
  const char* at = array.data;
  std::size_t extent = 0;
  for (const std::int64_t index : place) at += index * array.strides[extent++];
  return {at, size_of(array.element)};
}

}  // namespace

TEST_CASE("every number type that numpy writes is known, in both byte orders") {
  const std::vector<std::pair<std::string, Element>> types{
      {"b1", Element::boolean}, {"i1", Element::int8},    {"i2", Element::int16},   {"i4", Element::int32},
      {"i8", Element::int64},   {"u1", Element::uint8},   {"u2", Element::uint16},  {"u4", Element::uint32},
      {"u8", Element::uint64},  {"f2", Element::float16}, {"f4", Element::float32}, {"f8", Element::float64}};
  for (const auto& [code, element] : types) {
    for (const std::string order : {"<", ">", "|", "="}) {
      INFO(order + code);
      const Array array = read_npy(npy_file(npy_dict(order + code, "(3, 2)"), std::string(6 * size_of(element), '\1')));
      CHECK(array.element == element);
      CHECK(array.swapped == (order == ">" && size_of(element) > 1));
      CHECK(array.shape == std::vector<std::int64_t>{3, 2});
    }
  }
}

TEST_CASE("the first dimension of an array in Fortran order is contiguous") {
  const Array c = read_npy(npy_of("<f4", "(3, 2)", kSix));
  CHECK(c.strides == std::vector<std::int64_t>{8, 4});
  const std::string file = npy_of("<f4", "(3, 2)", kSix, /*fortran=*/true);
  const Array fortran = read_npy(file);
  CHECK(fortran.strides == std::vector<std::int64_t>{4, 12});
  CHECK(bytes_at(fortran, {1, 1}) == bytes_of_numbers<float>({4}));
}

TEST_CASE("headers of all versions and styles are read") {
  const std::string data = bytes_of_numbers(kSix);
  for (const int version : {1, 2, 3}) {
    INFO(version);
    CHECK(read_npy(npy_file(npy_dict("<f4", "(6,)"), data, version)).shape == std::vector<std::int64_t>{6});
  }
  for (const std::string dict :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", "{'shape':(6,),'fortran_order':False,'descr':'<f4'}",
        "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (6L,), }",
        "{ 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 6 , ) , }"}) {
    INFO(dict);
    CHECK(read_npy(npy_file(dict, data)).shape == std::vector<std::int64_t>{6});
  }
  CHECK(read_npy(npy_of<float>("<f4", "()", {7})).shape.empty());
  CHECK(read_npy(npy_of<float>("<f4", "(0, 3)", {})).shape == std::vector<std::int64_t>{0, 3});
}

TEST_CASE("a header that is not an array's header is refused") {
  for (const std::string dict : {
           "",
           "{}",
           "[]",
           "{'descr': '<f4', 'fortran_order': False}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}",
           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': 6}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (6)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 1 1)}",
           "{'descr': '<f4', 'fortran_order': False 'shape': (6,)}",
           "{'descr': '<f\\x34', 'fortran_order': False, 'shape': (6,)}",
           "{'descr': '', 'fortran_order': False, 'shape': (6,)}",
           "{'descr': '<', 'fortran_order': False, 'shape': (6,)}",
           "{'descr': '<<f4', 'fortran_order': False, 'shape': (6,)}",
           "{'descr': __import__('os'), 'fortran_order': False, 'shape': (6,)}",
       }) {
    INFO(dict);
    CHECK(contains(npy_error(npy_file(dict, bytes_of_numbers(kSix))), "x.npy: its header does not describe an array"));
  }
}

TEST_CASE("arrays that are not numbers are refused with their type, and nothing is unpickled") {
  const auto error = [](const std::string& type) {
    return npy_error(npy_file(npy_dict(type, "(1,)"), "cos\nsystem\n"));
  };
  CHECK(contains(error("|O"), "contains Python objects, which require unpickling (dtype \"|O\")"));
  CHECK(contains(error("<c8"), "contains complex numbers"));
  CHECK(contains(error("<f16"), "contains floats of a platform-dependent size"));
  CHECK(contains(error("<U3"), "contains texts"));
  CHECK(contains(error("|S3"), "contains texts (bytes)"));
  CHECK(contains(error("<M8[ns]"), "contains dates"));
  CHECK(contains(error("<m8[s]"), "contains time differences"));
  CHECK(contains(error("|V2"), "contains raw bytes without a type"));
  CHECK(contains(error("<i16"), "contains an unknown type (dtype \"<i16\")"));
  const std::string records = "{'descr': [('a', '<f4'), ('b', '|O')], 'fortran_order': False, 'shape': (1,), }";
  CHECK(contains(npy_error(npy_file(records, "12345678")), "contains records (a structured dtype)"));
}

TEST_CASE("sizes that exceed the file are refused") {
  const auto error = [](const std::string& shape) { return npy_error(npy_of("<f4", shape, kSix)); };
  CHECK(error("(6,)").empty());
  CHECK(contains(error("(7,)"), "its header says 28 bytes of numbers, but the file has 24"));
  CHECK(contains(error("(5,)"), "its header says 20 bytes of numbers, but the file has 24"));
  CHECK(contains(error("(4611686018427387904, 4)"), "its shape is too large"));
  CHECK(contains(error("(9223372036854775807, 0)"), "its shape is too large"));
  CHECK(contains(error("(99999999999999999999,)"), "its shape is too large"));
  std::string extents;
  for (int i = 0; i < 65; ++i) extents += "1, ";
  CHECK(contains(error("(" + extents + ")"), "its header does not describe an array"));
}

TEST_CASE("a prefix that is not of an .npy file is refused") {
  CHECK(contains(npy_error("PK\x03\x04 and so on"), "x.npy: is not an .npy file"));
  CHECK(contains(npy_error(npy_file(npy_dict("<f4", "(6,)"), bytes_of_numbers(kSix), 4)), "unknown version"));
  const std::string huge = std::string("\x93NUMPY\x02\0", 8) + little_endian(0xffffffff, 4) + "{}";
  CHECK(contains(npy_error(huge), "has a header too large for an array of numbers"));
}

TEST_CASE("an .npy file that is cut off anywhere is refused") {
  for (const int version : {1, 2}) {
    const std::string whole = npy_file(npy_dict("<f4", "(2, 3)"), bytes_of_numbers(kSix), version);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      INFO(size << " of " << whole.size() << " bytes");
      REQUIRE_FALSE(npy_error(whole.substr(0, size)).empty());
    }
    CHECK_FALSE(npy_error(whole + "x").empty());
  }
}

TEST_CASE("flipped bits in an .npy file give an error or an array within the file") {
  const std::string whole = npy_of("<f4", "(2, 3)", kSix, /*fortran=*/true);
  std::mt19937 random(5);
  int refused = 0;
  for (int time = 0; time < 20'000; ++time) {
    std::string bytes = whole;
    for (int flips = 1 + time % 3; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    try {
      const Array array = read_npy(bytes);
      std::int64_t last = static_cast<std::int64_t>(size_of(array.element));
      for (std::size_t i = 0; i < array.shape.size(); ++i) last += (array.shape[i] - 1) * array.strides[i];
      const bool empty = std::count(array.shape.begin(), array.shape.end(), 0) > 0;
      REQUIRE((empty || array.data + last <= bytes.data() + bytes.size()));
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 5000);
}

TEST_CASE("an array file is mapped, and any other file is refused by its name") {
  const ScratchFolder scratch;
  scratch.write("a b.npy", npy_of("<f4", "(6,)", kSix));
  scratch.write("empty.npy", "");
  const Array array = map_npy(scratch.folder() / "a b.npy");
  CHECK(std::memcmp(array.data, kSix.data(), 24) == 0);
  const auto error = [&](const char* name) { return error_of([&] { map_npy(scratch.folder() / name); }); };
  CHECK(contains(error("empty.npy"), "empty.npy: is not an .npy file, or cut off"));
  CHECK(contains(error("none.npy"), "none.npy: cannot be read: No such file or directory"));
  CHECK(contains(error("."), "it is not a regular file"));
}

}  // namespace ddp::format
