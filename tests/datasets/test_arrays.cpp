#include <cmath>

#include "datasets/array_datasets.h"

namespace ddp::datasets {

TEST_CASE("row i of each array is sample i for every kind of file") {
  const ArrayFolder folder;
  const std::string x = folder.write("x.npy", inputs_file());
  const std::string y = folder.write("y.npy", targets_file());
  const std::string stored =
      folder.write("s.npz", ZipBytes().add("x.npy", inputs_file(), false).add("y.npy", targets_file(), false).bytes());
  const std::string packed =
      folder.write("p.npz", ZipBytes().add("x.npy", inputs_file(), true).add("y.npy", targets_file(), true).bytes());
  const std::string tensors = folder.path("x.safetensors");
  format::write_safetensors(tensors, {{"x", at::tensor(kInputs).view({4, 2})}, {"y", at::tensor(kTargets, at::kLong)}});
  const std::vector<std::pair<std::string, Value>> cases{
      {"npy", {{"inputs", x}, {"targets", y}}},
      {"npz", {{"path", stored}, {"inputs", "x"}, {"targets", "y"}}},
      {"npz", {{"path", packed}, {"inputs", "x"}, {"targets", "y"}}},
      {"safetensors", {{"path", tensors}, {"inputs", "x"}, {"targets", "y"}}},
  };
  for (const auto& [name, options] : cases) {
    INFO(options.dump());
    const auto dataset = built(name, options);
    CHECK(dataset->size() == 4);
    const Batch batch = rows_of(*dataset, {3, 0, 3});
    CHECK(batch.inputs.at(0).first == "x");
    CHECK(batch.targets.at(0).first == "y");
    CHECK(at::equal(batch.inputs.at(0).second, at::tensor({6.F, 7.F, 0.5F, 1.F, 6.F, 7.F}).view({3, 2})));
    CHECK(at::equal(batch.targets.at(0).second, at::tensor({0, 2, 0}, at::kLong)));
    CHECK(at::equal(dataset->classes(), at::tensor(kTargets, at::kLong)));
    CHECK(dataset->facts() == Value{{"rows", 4}, {"num_classes", 3}});
    CHECK(dataset->in_memory());
  }
}

TEST_CASE("a batch of arrays is a fresh tensor at a 64-byte boundary") {
  const ArrayFolder folder;
  const std::string x = folder.write("x.npy", npy_of<float>("<f4", "(3, 3)", {0, 1, 2, 3, 4, 5, 6, 7, 8}));
  const auto dataset = built("npy", {{"inputs", x}, {"targets", x}});
  const Batch batch = rows_of(*dataset, {1, 2});
  CHECK(reinterpret_cast<std::uintptr_t>(batch.inputs.at(0).second.const_data_ptr()) % 64 == 0);
  CHECK(batch.inputs.at(0).second.is_contiguous());
  batch.inputs.at(0).second.zero_();
  CHECK(at::equal(rows_of(*dataset, {1}).inputs.at(0).second, at::tensor({3.F, 4.F, 5.F}).view({1, 3})));
}

TEST_CASE("numbers of every type become float32 or int64, in both byte orders") {
  const ArrayFolder folder;
  const std::string y = folder.write("y.npy", npy_of<std::int64_t>("<i8", "(2,)", {0, 1}));
  const auto input = [&](const std::string& type, const std::string& bytes, Value more = Value::object()) {
    more.update({{"inputs", folder.write("x.npy", npy_file(npy_dict(type, "(2,)"), bytes))}, {"targets", y}});
    return rows_of(*built("npy", more), {0, 1}).inputs.at(0).second;
  };
  const auto check = [&]<class Number>(const std::string& type, const std::vector<Number>& numbers, bool floats) {
    INFO(type);
    at::Tensor expected = at::empty({2}, floats ? at::kFloat : at::kLong);
    for (int i = 0; i < 2; ++i) {
      floats ? expected[i] = static_cast<float>(numbers[i]) : expected[i] = static_cast<std::int64_t>(numbers[i]);
    }
    const at::Tensor read = input("<" + type, bytes_of_numbers(numbers));
    CHECK(read.scalar_type() == (floats ? at::kFloat : at::kLong));
    CHECK(at::equal(read, expected));
    CHECK(at::equal(input(">" + type, swapped_bytes(numbers)), expected));
    CHECK(at::equal(input("<" + type, bytes_of_numbers(numbers), {{"scale", 0.1}}), expected.to(at::kFloat) * 0.1));
    CHECK(at::equal(input(">" + type, swapped_bytes(numbers), {{"scale", 0.1}}), expected.to(at::kFloat) * 0.1));
  };
  check("b1", std::vector<std::uint8_t>{1, 0}, false);
  check("i1", std::vector<std::int8_t>{-128, 127}, false);
  check("i2", std::vector<std::int16_t>{-32768, 258}, false);
  check("i4", std::vector<std::int32_t>{-70000, 16777217}, false);
  check("i8", std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(), 1234567890123}, false);
  check("u1", std::vector<std::uint8_t>{255, 3}, false);
  check("u2", std::vector<std::uint16_t>{65535, 258}, false);
  check("u4", std::vector<std::uint32_t>{4294967295, 258}, false);
  check("u8", std::vector<std::uint64_t>{9223372036854775807ULL, 258}, false);
  check("f2", std::vector<c10::Half>{c10::Half(0.1F), c10::Half(-65504.F)}, true);
  check("f4", std::vector<float>{0.1F, -3e38F}, true);
  check("f8", std::vector<double>{0.1, -1e-300}, true);
}

TEST_CASE(
    "an unsigned number that does not fit into int64 is refused with its row, and accepted as float32 with scale") {
  const ArrayFolder folder;
  const std::string x = folder.write("x.npy", npy_of<std::uint64_t>("<u8", "(2,)", {1, 1ULL << 63}));
  const auto dataset = built("npy", {{"inputs", x}, {"targets", x}});
  CHECK(at::equal(rows_of(*dataset, {0}).inputs.at(0).second, at::tensor({1}, at::kLong)));
  CHECK(contains(error_of([&] { rows_of(*dataset, {1}); }), "x.npy: row 1 holds a number too large for int64"));
  const std::string y = folder.write("y.npy", npy_of<std::int64_t>("<i8", "(2,)", {0, 1}));
  const auto scaled = built("npy", {{"inputs", x}, {"targets", y}, {"scale", 1}});
  CHECK(rows_of(*scaled, {1}).inputs.at(0).second.item<float>() == 0x1p63F);
}

TEST_CASE("scale leaves targets unchanged") {
  const ArrayFolder folder;
  const std::string x = folder.write("x.npy", npy_of<std::uint8_t>("|u1", "(2, 2)", {0, 51, 102, 255}));
  const auto dataset = built("npy", {{"inputs", x}, {"targets", x}, {"scale", 1.0 / 255}});
  const Batch batch = rows_of(*dataset, {0, 1});
  CHECK(at::equal(batch.inputs.at(0).second, at::tensor({0.F, 51.F, 102.F, 255.F}).view({2, 2}) * (1.0 / 255)));
  CHECK(at::equal(batch.targets.at(0).second, at::tensor({0, 51, 102, 255}, at::kLong).view({2, 2})));
}

TEST_CASE("arrays in Fortran order give the same rows with any number of dimensions") {
  const ArrayFolder folder;
  const at::Tensor whole = at::arange(4 * 3 * 2 * 5, at::kInt).view({4, 3, 2, 5});
  const at::Tensor turned = whole.permute({3, 2, 1, 0}).contiguous();
  const std::vector<std::int32_t> numbers(turned.const_data_ptr<std::int32_t>(),
                                          turned.const_data_ptr<std::int32_t>() + turned.numel());
  const std::string x = folder.write("x.npy", npy_of("<i4", "(4, 3, 2, 5)", numbers, /*fortran=*/true));
  const std::string b =
      folder.write("b.npy", npy_file(npy_dict(">i4", "(4, 3, 2, 5)", /*fortran=*/true), swapped_bytes(numbers)));
  const std::string c = folder.write("c.npy", npy_of<float>("<f4", "(4, 1)", {0, 1, 2, 3}, /*fortran=*/true));
  const auto dataset = built("npy", {{"inputs", {x, b, c}}, {"targets", x}});
  const Batch batch = rows_of(*dataset, {2, 0, 3});
  const at::Tensor expected = whole.index_select(0, at::tensor({2, 0, 3}, at::kLong)).to(at::kLong);
  CHECK(at::equal(batch.inputs.at(0).second, expected));
  CHECK(at::equal(batch.inputs.at(1).second, expected));
  CHECK(at::equal(batch.inputs.at(2).second, at::tensor({2.F, 0.F, 3.F}).view({3, 1})));
}

TEST_CASE("several inputs and targets keep their order, shapes and names") {
  const ArrayFolder folder;
  const std::string image =
      folder.write("an image.npy", npy_of<std::uint8_t>("|u1", "(2, 2, 2)", {0, 1, 2, 3, 4, 5, 6, 7}));
  const std::string age = folder.write("age.npy", npy_of<double>("<f8", "(2,)", {30, 40}));
  const std::string other_age = folder.write("other/age.npy", npy_of<double>("<f8", "(2,)", {1, 2}));
  const auto dataset = built("npy", {{"inputs", {image, age, other_age}}, {"targets", {age, image}}});
  const Batch batch = rows_of(*dataset, {1});
  REQUIRE(batch.inputs.size() == 3);
  CHECK(batch.inputs[0].first == "an image");
  CHECK(at::equal(batch.inputs[0].second, at::tensor({4, 5, 6, 7}, at::kLong).view({1, 2, 2})));
  CHECK(batch.inputs[1].first == "age");
  CHECK(at::equal(batch.inputs[1].second, at::tensor({40.F})));
  CHECK(batch.inputs[2].first == "age_2");
  CHECK(at::equal(batch.inputs[2].second, at::tensor({2.F})));
  REQUIRE(batch.targets.size() == 2);
  CHECK(batch.targets[1].first == "an image");
  CHECK_FALSE(dataset->classes().defined());
  CHECK(dataset->facts() == Value{{"rows", 2}});
}

TEST_CASE("an array of weights is one finite number from 0 for each sample, and no prediction needs it") {
  const ArrayFolder folder;
  const std::string x = folder.write("x.npy", inputs_file());
  const std::string y = folder.write("y.npy", targets_file());
  const auto with_weights = [&](const std::string& weights) {
    return Value{{"inputs", x}, {"targets", y}, {"weights", folder.write("w.npy", weights)}};
  };
  const auto dataset = built("npy", with_weights(npy_of<float>("<f4", "(4,)", {1, 0, 2.5F, 3})));
  CHECK(at::equal(rows_of(*dataset, {3, 2}).weights, at::tensor({3.F, 2.5F})));
  const auto refusal = [&](const std::string& weights) { return build_error("npy", with_weights(weights)); };
  CHECK(contains(refusal(npy_of<float>("<f4", "(4,)", {1, 2, -1, 3})), "row 2 has the weight -1"));
  CHECK(contains(refusal(npy_of<float>("<f4", "(4,)", {1, NAN, 1, 3})), "row 1 has the weight nan"));
  CHECK(contains(refusal(npy_of<float>("<f4", "(2, 2)", {1, 1, 1, 3})), "has 2 rows"));
  CHECK(contains(refusal(targets_file()), "give the weights as one floating-point number a sample"));
  const Value options = with_weights(npy_of<float>("<f4", "(4,)", {1, 0, 2.5F, 3}));
  CHECK_FALSE(rows_of(*built("npy", options, {.role = Role::prediction}), {0}).weights.defined());
}

}  // namespace ddp::datasets
