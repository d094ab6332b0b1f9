#include <sys/stat.h>

#include <chrono>

#include "catch.h"
#include "scratch.h"

namespace ddp::config {
namespace {

std::string repeated(const std::string& part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

}  // namespace

TEST_CASE("a file that cannot be read says why") {
  const Scratch scratch;
  CHECK(mistakes_of("gone.toml") == "gone.toml: there is no such file");
  CHECK(mistakes_of(".") == ".: it is a directory");
  CHECK(mistakes_of("/dev/null") == "/dev/null: it is not a regular file");
  REQUIRE(mkfifo("pipe.toml", 0600) == 0);
  CHECK(mistakes_of("pipe.toml") == "pipe.toml: it is not a regular file");
  scratch.write("huge.toml", std::string(5 << 20, '#'));
  CHECK(contains(mistakes_of("huge.toml"), "huge.toml: it is larger than 1 MiB"));
}

TEST_CASE("a text that is not TOML is shown at the place where it stops being TOML") {
  CHECK(contains(mistakes("seed = \n"), "x.toml:1:8: not TOML: "));
  CHECK(contains(mistakes("seed = 1\nseed = 2\n"), "x.toml:2:"));
  CHECK(contains(mistakes("seed = 99999999999999999999\n"), "not TOML"));
  CHECK(contains(mistakes("name = \"caf\xE9\"\n"), "x.toml:1:"));
  CHECK(contains(mistakes(std::string("seed = 1\0\n", 10)), "not TOML"));
  CHECK(contains(mistakes("model = \"mlp\"\n[model]\nhidden = []\n"), "x.toml:2:"));
}

TEST_CASE("a megabyte of nested brackets is refused at once") {
  constexpr std::size_t kMany = 333'333;
  const auto start = std::chrono::steady_clock::now();
  CHECK(contains(mistakes("x = " + repeated("[", kMany)), "brackets are nested deeper than 32"));
  CHECK(contains(mistakes("x = " + repeated("{a=", kMany)), "brackets are nested deeper than 32"));
  CHECK(contains(mistakes("[" + repeated("a.", kMany) + "a]\n"), "the key has more than 16 parts"));
  CHECK(contains(mistakes(repeated("a . ", kMany / 2) + "a = 1\n"), "the key has more than 16 parts"));
  CHECK(contains(mistakes(repeated("\"a\".", kMany / 2) + "a = 1\n"), "the key has more than 16 parts"));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("dots and brackets in strings and comments are not nesting") {
  const std::string dots(100, '.');
  const std::string brackets(100, '[');
  CHECK(mistakes(kModelAndDataset + "# " + dots + brackets + "\ndistributed.init_method = \"" + dots + brackets +
                 "\\\"" + brackets + "\"\n") == "");
  CHECK(mistakes(kModelAndDataset + "distributed.init_method = '''" + brackets + "'\n''" + dots + "'''''\n") == "");
}

TEST_CASE("a file full of mistakes is answered in bounded time", "[slow]") {
  std::string keys = kModelAndDataset;
  for (int i = 0; i < 100'000; ++i) keys += "k" + std::to_string(i) + "=1\n";
  CHECK(contains(mistakes(keys), "and 99950 more"));
  for (const char* value : {"-1,", "1.5,"}) {
    CHECK(contains(mistakes("x = [" + repeated(value, 250'000) + "]"), "unknown key \"x\""));
  }
  const std::string layers = "dataset = \"random_pairs\"\n[model]\nname = \"sequential\"\nlayers = [";
  CHECK(mistakes(layers + repeated("{type=\"ReLU\"},", 70'000) + "]") == "");
}

TEST_CASE("a long line is clipped around the mistake, and a terminal is not fed control characters") {
  const std::string said =
      mistakes(kModelAndDataset + "name = { " + repeated("é = 1, ", 1) + "x = \"" + std::string(5000, 'x') + "\" }\n");
  CHECK(said.size() < 500);
  const std::string colored = mistakes("\"\\u001b[31m\\u009b\" = 1\n# \n");
  CHECK(contains(colored, "unknown key \"?[31m?\""));
  CHECK_FALSE(contains(colored, "\x1b"));
  CHECK(contains(mistakes("deterministic = tr\x1b\xff\n"), "not TOML"));
  CHECK_FALSE(contains(mistakes("deterministic = tr\x1b\xff\n"), "\x1b"));
  const std::string raw = mistakes(kModelAndDataset +
                                   "seed = \"\xC2\x9B"
                                   "31m\"\n");
  CHECK(contains(raw, "seed = \"?31m\""));
}

TEST_CASE("the carets stand under a mistake after multi-byte characters and in files with CRLF") {
  CHECK(mistakes("model = \"linear\"\r\ndataset = { name = \"é€\", x = 1 }\r\n") ==
        "x.toml:2:20: there is no dataset \"é€\"\n   2 | dataset = { name = \"é€\", x = 1 }\n"
        "     |                    ^~~~\n  every dataset: digits, random_batch, random_pairs");
}

}  // namespace ddp::config
