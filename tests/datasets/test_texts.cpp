#include <unistd.h>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include "array_files.h"
#include "catch.h"
#include "datasets/dataset.h"
#include "datasets/text/blocks.h"
#include "errors.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::datasets {
namespace {

struct TextFolder : ScratchFolder {
  template <class Number>
  std::string write_numbers(const std::string& name, const std::vector<Number>& numbers) const {
    return write(name, {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)});
  }
};

std::unique_ptr<Dataset> text(const config::Value& path, std::int64_t block_size, const Context& context = {},
                              const config::Value& more = config::Value::object()) {
  config::Value options = {{"path", path}, {"block_size", block_size}};
  options.update(more);
  return registry().build("text", options, context);
}

const MapDataset& blocks(const std::unique_ptr<Dataset>& dataset) { return dynamic_cast<const MapDataset&>(*dataset); }

Batch all_of(const std::unique_ptr<Dataset>& dataset) {
  return blocks(dataset).gather(at::arange(blocks(dataset).size(), at::kLong), /*epoch=*/0);
}

const at::Tensor& inputs(const Batch& batch) { return batch.inputs.front().second; }
const at::Tensor& targets(const Batch& batch) { return batch.targets.front().second; }

std::string numbers_to(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

// The bytes of a part, read from its blocks of one token and the last target.
std::vector<std::int64_t> tokens_of(const std::unique_ptr<Dataset>& dataset) {
  const Batch batch = all_of(dataset);
  std::vector<std::int64_t> tokens(inputs(batch).const_data_ptr<std::int64_t>(),
                                   inputs(batch).const_data_ptr<std::int64_t>() + inputs(batch).numel());
  tokens.push_back(targets(batch).flatten()[-1].item<std::int64_t>());
  return tokens;
}

const config::Value kBytes = {{"tokenizer", "byte"}};
const config::Value kRandomBytes = {{"tokenizer", "byte"}, {"sampling", "random"}};

}  // namespace

TEST_CASE("a text is cut into blocks whose targets are one token later") {
  const TextFolder folder;
  const auto dataset = text(folder.write("a.txt", "dbacabad"), 3);
  REQUIRE(blocks(dataset).size() == 2);  // floor((8 - 1) / 3)
  const Batch batch = blocks(dataset).gather(at::tensor({1, 0}, at::kLong), /*epoch=*/0);
  CHECK(at::equal(inputs(batch), at::tensor({2, 0, 1, 3, 1, 0}, at::kLong).view({2, 3})));
  CHECK(at::equal(targets(batch), at::tensor({0, 1, 0, 1, 0, 2}, at::kLong).view({2, 3})));
  const config::Value facts = dataset->facts();
  CHECK(facts == config::Value{{"vocab_size", 4}, {"num_classes", 4}, {"block_size", 3}, {"tokens", 8}});
  CHECK(dataset->preprocessing() == config::Value{{"tokenizer", {{"name", "char"}, {"characters", "abcd"}}}});
}

TEST_CASE("files are joined without a separator, in the order of the list or, for a glob, of the names") {
  const TextFolder folder;
  folder.write("b.txt", "\x03\x04");
  folder.write("a.txt", "\x01\x02");
  folder.write("c.txt", "\x05");
  using List = std::vector<std::int64_t>;
  CHECK(tokens_of(text(folder.path("*.txt"), 1, {}, kBytes)) == List{1, 2, 3, 4, 5});
  CHECK(tokens_of(text({folder.path("c.txt"), folder.path("[ab].txt")}, 1, {}, kBytes)) == List{5, 1, 2, 3, 4});
}

TEST_CASE("the end of a text is held out, and each part is cut into blocks by itself") {
  const TextFolder folder;
  for (const int n : {30, 99, 100, 101, 256}) {
    const std::string file = folder.write("a.bin", numbers_to(n));
    for (const auto& [v, t] : {std::pair{0.1, 0.0}, std::pair{0.0, 0.3}, std::pair{0.2, 0.1}, std::pair{0.3, 0.3}}) {
      std::vector<std::int64_t> seen;
      std::vector<std::int64_t> sizes;
      for (const Role role : {Role::train, Role::validation, Role::test}) {
        if ((role == Role::validation && v == 0) || (role == Role::test && t == 0)) continue;
        const auto part = tokens_of(text(file, 1, {.role = role, .validation_share = v, .test_share = t}, kBytes));
        sizes.push_back(static_cast<std::int64_t>(part.size()));
        seen.insert(seen.end(), part.begin(), part.end());
      }
      // Together they are the text in its order.
      std::vector<std::int64_t> all(static_cast<std::size_t>(n));
      std::iota(all.begin(), all.end(), 0);
      INFO(n << " " << v << " " << t);
      CHECK(seen == all);
      CHECK(sizes[0] == static_cast<std::int64_t>(n * (1 - v - t)));
      if (t == 0) CHECK(sizes[1] == n - static_cast<std::int64_t>(n * (1 - v)));
    }
  }
}

TEST_CASE("a share counts characters, not bytes") {
  const TextFolder folder;
  const std::string file = folder.write("a.txt", "éééééééééabcdefghij");
  const auto held_out = text(file, 2, {.role = Role::validation, .validation_share = 0.5});
  CHECK(held_out->facts().at("tokens") == 10);
  CHECK(held_out->facts().at("vocab_size") == 11);
}

TEST_CASE("separate validation data is encoded whole by the training's tokenizer") {
  const TextFolder folder;
  const auto train = text(folder.write("a.txt", "abcabcabc"), 2);
  const Context own{.role = Role::validation, .preprocessing = train->preprocessing(), .test_share = 0.5};
  CHECK(tokens_of(text(folder.write("b.txt", "cabba"), 1, own)) == std::vector<std::int64_t>{2, 0, 1, 1, 0});
  const std::string error = error_of([&] { text({folder.path("b.txt"), folder.write("c.txt", "ab?")}, 1, own); });
  CHECK(contains(error, "c.txt: byte 2: the character \"?\" (U+003F) does not occur"));
}

TEST_CASE("a part that is too short for a block is an error with both lengths") {
  const TextFolder folder;
  const std::string file = folder.write("a.txt", "0123456789");
  CHECK(error_of([&] { text(file, 9); }).empty());
  CHECK(contains(error_of([&] { text(file, 10); }),
                 "a.txt: has 10 tokens, but a sample needs 11 tokens (block_size 10 and the next token)\n"
                 "  use a dataset.block_size of at most 9, or more text"));
  const std::string held_out = error_of([&] { text(file, 3, {.role = Role::validation, .validation_share = 0.2}); });
  CHECK(contains(held_out, "a.txt: its validation part has 2 of its 10 tokens"));
  CHECK(contains(held_out, "a dataset.block_size of at most 1, a larger [validation] split, or more text"));
  folder.write("b.txt", "");
  const std::string empty = error_of([&] { text(folder.path("b.txt"), 7); });
  CHECK(contains(empty, "b.txt: is empty, but a sample needs 8 tokens (block_size 7 and the next token)"));
  CHECK(contains(empty, "dataset.path"));
  CHECK(contains(error_of([&] { text(folder.path("*.txt"), 12); }), "a.txt and 1 more: has 10 tokens"));
  const std::string tokens = error_of([&] {
    registry().build("tokens",
                     {{"path", folder.write_numbers("t.bin", std::vector<std::uint16_t>{1, 2})}, {"block_size", 2}},
                     Context{});
  });
  CHECK(contains(tokens, "t.bin: has 2 tokens, but a sample needs 3 tokens (block_size 2"));
}

TEST_CASE("a text that cannot be read is an error with its name") {
  const TextFolder folder;
  CHECK(contains(error_of([&] { text(folder.path("none.txt"), 1); }), "none.txt: cannot be read: No such file"));
  CHECK(contains(error_of([&] { text(folder.path("*.md"), 1); }), "matches no file"));
  CHECK(contains(error_of([&] { text(folder.path(""), 1); }), "is a folder, not a file"));
  CHECK(contains(error_of([&] { text(folder.write("a.txt", "ab\xFF"), 1); }), "a.txt: byte 2: is not UTF-8"));
  CHECK(contains(error_of([&] { text(folder.path("a.txt"), 1, {}, {{"tokenizer", folder.path("")}}); }), "vocab.json"));
}

TEST_CASE("random offsets depend on seed, step, micro-batch, rank and sample, and reach every place") {
  const TextFolder folder;
  const auto dataset = text(folder.write("a.bin", numbers_to(10)), 4, {.seed = 7}, kRandomBytes);
  const auto& placed = dynamic_cast<const DrawnDataset&>(*dataset);
  const auto begins = [&](const MicroBatchPosition& place, const DrawnDataset& of) {
    const Batch batch = of.draw(64, place);
    CHECK(at::equal(inputs(batch) + 1, targets(batch)));
    const at::Tensor firsts = inputs(batch).select(1, 0).contiguous();
    const auto* first = firsts.const_data_ptr<std::int64_t>();
    return std::vector<std::int64_t>(first, first + firsts.numel());
  };
  const auto first = begins({.step = 3, .micro_batch = 1, .rank = 2}, placed);
  CHECK(first == begins({.step = 3, .micro_batch = 1, .rank = 2}, placed));
  CHECK(std::set(first.begin(), first.end()) == std::set<std::int64_t>{0, 1, 2, 3, 4, 5});  // [0, 10 - 4)
  std::set<std::vector<std::int64_t>> different{first};
  different.insert(begins({.step = 4, .micro_batch = 1, .rank = 2}, placed));
  different.insert(begins({.step = 3, .micro_batch = 0, .rank = 2}, placed));
  different.insert(begins({.step = 3, .micro_batch = 1, .rank = 0}, placed));
  const auto other = text(folder.path("a.bin"), 4, {.seed = 8}, kRandomBytes);
  different.insert(begins({.step = 3, .micro_batch = 1, .rank = 2}, dynamic_cast<const DrawnDataset&>(*other)));
  CHECK(different.size() == 5);
}

TEST_CASE("random offsets are only for training: other parts are cut into blocks") {
  const TextFolder folder;
  const std::string file = folder.write("a.bin", numbers_to(20));
  const auto held_out = text(file, 4, {.role = Role::validation, .validation_share = 0.5}, kRandomBytes);
  CHECK(blocks(held_out).size() == 2);
}

TEST_CASE("ranks that use the held tokens read no file and have the same samples") {
  const TextFolder folder;
  const std::string file = folder.write("a.txt", "the quick brown fox é");
  for (const auto& more : {config::Value::object(), config::Value{{"sampling", "random"}}}) {
    const auto first = text(file, 4, {.validation_share = 0.25, .seed = 1}, more);
    const Context holding{
        .preprocessing = first->preprocessing(), .validation_share = 0.25, .held = first->held(), .seed = 1};
    const auto other = text(folder.path("gone.txt"), 4, holding, more);
    CHECK(other->facts() == first->facts());
    CHECK(other->preprocessing() == first->preprocessing());
    if (more.empty()) {
      CHECK(at::equal(inputs(all_of(other)), inputs(all_of(first))));
    } else {
      const auto draw = [](const Dataset& d) { return inputs(dynamic_cast<const DrawnDataset&>(d).draw(8, {})); };
      CHECK(at::equal(draw(*other), draw(*first)));
    }
  }
}

TEST_CASE("tokens are held in the smallest type that fits them") {
  const TextFolder folder;
  std::string many;
  for (int i = 0; i < 300; ++i)
    many += std::string("\xE4") + static_cast<char>(0xB8 + i / 64) + static_cast<char>(0x80 + i % 64);
  CHECK(text(folder.write("a.txt", "abcabc"), 1)->held().front().second.scalar_type() == at::kByte);
  CHECK(text(folder.write("b.txt", many), 1)->held().front().second.scalar_type() == at::kShort);
  CHECK(tokens_of(text(folder.path("b.txt"), 1)).back() == 299);
}

TEST_CASE("tokens of every type are read from files one after the other") {
  const TextFolder folder;
  const auto check = [&](const char* dtype, const auto& first, const auto& second) {
    folder.write_numbers(std::string(dtype) + "-0.bin", first);
    folder.write_numbers(std::string(dtype) + "-1.bin", second);
    const config::Value options = {
        {"path", folder.path(std::string(dtype) + "-*.bin")}, {"dtype", dtype}, {"block_size", 2}};
    const auto dataset = registry().build("tokens", options, Context{});
    INFO(dtype);
    REQUIRE(blocks(dataset).size() == 2);
    // Block 1 spans the end of the first file.
    CHECK(at::equal(inputs(all_of(dataset)), at::tensor({7, 50'000, 3, 9}, at::kLong).view({2, 2})));
    CHECK(at::equal(targets(all_of(dataset)), at::tensor({50'000, 3, 9, 1}, at::kLong).view({2, 2})));
    CHECK(dataset->facts().at("vocab_size") == 50'001);
    CHECK(dataset->held().empty());
  };
  check("uint16", std::vector<std::uint16_t>{7, 50'000, 3}, std::vector<std::uint16_t>{9, 1});
  check("uint32", std::vector<std::uint32_t>{7, 50'000, 3}, std::vector<std::uint32_t>{9, 1});
  check("int32", std::vector<std::int32_t>{7, 50'000, 3}, std::vector<std::int32_t>{9, 1});
  check("int64", std::vector<std::int64_t>{7, 50'000, 3}, std::vector<std::int64_t>{9, 1});
}

TEST_CASE("files that hold no tokens are refused by their names") {
  const TextFolder folder;
  const auto refusal = [&](const std::string& name, const std::string& dtype) {
    return error_of([&] {
      const config::Value options = {{"path", folder.path(name)}, {"dtype", dtype}, {"block_size", 1}};
      registry().build("tokens", options, Context{})->facts();
    });
  };
  folder.write("odd.bin", "12345");
  CHECK(contains(refusal("odd.bin", "uint16"), "odd.bin: has 5 bytes, not a whole number of uint16 tokens"));
  folder.write("empty.bin", "");
  CHECK(contains(refusal("empty.bin", "uint16"), "empty.bin: is empty"));
  CHECK(contains(refusal("none.bin", "uint16"), "none.bin: cannot be read"));
  folder.write_numbers("negative.bin", std::vector<std::int32_t>{3, 4, -5, 6});
  CHECK(contains(refusal("negative.bin", "int32"), "token 2 is -5"));
}

TEST_CASE("a file whose numbers contradict dtype is read with a warning, and one with a header is refused") {
  const TextFolder folder;
  const auto build = [&](const std::string& dtype) {
    const config::Value options = {{"path", folder.path("a.bin")}, {"dtype", dtype}, {"block_size", 8}};
    return registry().build("tokens", options, Context{});
  };
  const auto write = [&]<class Number>(std::int64_t vocab_size, Number) {
    std::vector<Number> tokens;
    for (std::int64_t i = 1; i <= 1000; ++i) tokens.push_back(static_cast<Number>(i * 7919 % vocab_size));
    folder.write_numbers("a.bin", tokens);
  };
  const auto check = [&](std::initializer_list<const char*> doubtful, std::initializer_list<const char*> right) {
    for (const std::string dtype : doubtful) {
      INFO(dtype);
      const auto warnings = build(dtype)->warnings();
      REQUIRE(warnings.size() == 1);
      CHECK(contains(warnings[0], "a.bin: "));
      CHECK(contains(warnings[0], "dataset.dtype = \"" + dtype + "\""));
    }
    for (const std::string dtype : right) CHECK(build(dtype)->warnings().empty());
  };
  for (const std::int64_t vocab_size : {65, 50'257, 128'000, 200'000}) {
    INFO(vocab_size);
    write(vocab_size, std::int64_t{});
    check({"uint16", "uint32", "int32"}, {"int64"});
    write(vocab_size, std::uint32_t{});
    check({"uint16", "int64"}, {"uint32", "int32"});
  }
  for (const std::int64_t vocab_size : {65, 50'257}) {
    write(vocab_size, std::uint16_t{});
    check({"uint32", "int32", "int64"}, {"uint16"});
  }
  write(2, std::uint16_t{});  // every second one is 0 indeed
  check({}, {"uint16"});
  write(10'000'000, std::uint32_t{});
  check({}, {"uint32"});
  write(65, float{});
  check({"uint16", "uint32", "int64"}, {});
  folder.write("a.bin", std::string(512, 'a'));
  CHECK(contains(build("uint16")->warnings().at(0), "text"));
  const auto refusal = [&] { return error_of([&] { build("uint16"); }); };
  folder.write("a.bin", npy_of("<i8", "(40,)", std::vector<std::int64_t>(40, 3)));
  CHECK(contains(refusal(), "a.bin: is an .npy file of int64 numbers"));
  CHECK(contains(refusal(), "dataset.dtype = \"int64\""));
  folder.write("a.bin", npy_of("<f4", "(40,)", std::vector<float>(40, 3)));
  CHECK(contains(refusal(), ".astype(\"uint32\")"));
}

}  // namespace ddp::datasets
