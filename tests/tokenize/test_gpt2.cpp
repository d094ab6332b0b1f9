#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include "catch.h"
#include "errors.h"
#include "tokenize/pattern.h"
#include "tokenize/steps.h"
#include "vocabulary.h"
#include "words.h"

namespace ddp::tokenize {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  static const Pattern pattern(kGpt2Words);
  std::vector<std::string> list;
  pattern.cut(text, [&](std::string_view part, bool) { list.emplace_back(part); });
  return list;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

// The loop of GPT-2's published encoder.py: merges the pair of neighbors with the lowest rank everywhere, until no pair
// has a rank.
std::vector<std::string> join_as_published(std::vector<std::string> word, const Pairs& merges) {
  const auto rank_of = [&](const std::string& left, const std::string& right) {
    const auto found = std::find(merges.begin(), merges.end(), std::pair{left, right});
    return found == merges.end() ? std::numeric_limits<std::ptrdiff_t>::max() : found - merges.begin();
  };
  while (word.size() > 1) {
    std::size_t best = 0;
    for (std::size_t i = 0; i + 1 < word.size(); ++i) {
      if (rank_of(word[i], word[i + 1]) < rank_of(word[best], word[best + 1])) best = i;
    }
    if (rank_of(word[best], word[best + 1]) == std::numeric_limits<std::ptrdiff_t>::max()) break;
    const std::pair pair{word[best], word[best + 1]};
    std::vector<std::string> joined;
    for (std::size_t i = 0; i < word.size(); ++i) {
      const bool here = i + 1 < word.size() && word[i] == pair.first && word[i + 1] == pair.second;
      joined.push_back(here ? word[i] + word[i + 1] : word[i]);
      if (here) ++i;
    }
    word = joined;
  }
  return word;
}

std::vector<std::int64_t> encode_as_published(std::string_view text, const TokenizerFolder& folder) {
  const std::vector<std::string> of_byte = alphabet();
  std::vector<std::int64_t> ids;
  for (const std::string& word : words_of(text)) {
    std::vector<std::string> symbols;
    for (const char c : word) symbols.push_back(of_byte[static_cast<unsigned char>(c)]);
    for (const std::string& token : join_as_published(symbols, folder.merges())) ids.push_back(folder.ids().at(token));
  }
  return ids;
}

constexpr const char* kText =
    "It's 2024, and they'll say: we've seen the theatre's 1,000 chairs!  The end of the theatre,\n\n\tthe end of it "
    "all. "
    "Grüße aus Köln; 東京は日本の首都です。 Ελλάδα ... naïve café — “quoted” 😀😀 x²+y² = ½\r\n   trailing   ";

std::shared_ptr<const Tokenizer> tokenizer_in(const TokenizerFolder& folder) {
  return make_tokenizer(folder.folder().string(), Text()).tokenizer;
}

std::string refusal(const TokenizerFolder& folder) {
  return error_of([&] { tokenizer_in(folder); });
}

}  // namespace

TEST_CASE("words are the matches of GPT-2's regular expression") {
  using List = std::vector<std::string>;
  CHECK(words_of("Hello world") == List{"Hello", " world"});
  CHECK(words_of("it's we'll I'd they've 'tis can't 'S") ==
        List{"it", "'s", " we", "'ll", " I", "'d", " they", "'ve", " '", "tis", " can", "'t", " '", "S"});
  CHECK(words_of("a  b   c") == List{"a", " ", " b", "  ", " c"});
  CHECK(words_of("a\n\n b\t") == List{"a", "\n\n", " b", "\t"});
  CHECK(words_of("end   ") == List{"end", "   "});
  CHECK(words_of("x=3.14;y") == List{"x", "=", "3", ".", "14", ";", "y"});
  CHECK(words_of("Größe 東京 ½²٣") == List{"Größe", " 東京", " ½²٣"});
  CHECK(words_of("\u00A0a\u3000\u2028b") == List{"\u00A0", "a", "\u3000", "\u2028", "b"});
  // White space follows Unicode: these two are not white space.
  CHECK(words_of("a\u180Eb\u200Bc\x1C") == List{"a", "\u180E", "b", "\u200B", "c", "\x1C"});
  CHECK(words_of("").empty());
}

TEST_CASE("a run of ten million equal characters is one word") {
  for (const char c : {' ', 'a', '7', '!'}) {
    const std::string run(10'000'000, c);
    CHECK(words_of(run).size() == 1);
  }
}

TEST_CASE("gpt2 joins tokens as GPT-2's published loop does") {
  const TokenizerFolder folder(kText);
  REQUIRE(folder.merges().size() > 20);
  const auto tokenizer = tokenizer_in(folder);
  CHECK(tokenizer->vocab_size() == static_cast<std::int64_t>(folder.ids().size()));
  const std::vector<std::int64_t> ids = ids_of(*tokenizer, kText);
  CHECK(ids == encode_as_published(kText, folder));
  CHECK(ids.size() < std::string(kText).size());
  CHECK(tokenizer->decode(ids) == kText);
}

TEST_CASE("a word of a million letters takes at most some seconds") {
  const TokenizerFolder folder(kText);
  const auto tokenizer = tokenizer_in(folder);
  std::string word;
  std::mt19937 random(1);
  while (word.size() < 1'000'000) word += "theatrsaynd"[random() % 11];
  CHECK(tokenizer->decode(ids_of(*tokenizer, word)) == word);
}

TEST_CASE("a special token in a text is ordinary text") {
  TokenizerFolder folder;
  folder.write_merges({{"e", "n"}});
  auto ids = folder.ids();
  ids.emplace("<|endoftext|>", static_cast<int>(ids.size()));
  folder.write("vocab.json", nlohmann::json(ids).dump());
  const auto tokenizer = tokenizer_in(folder);
  CHECK(ids_of(*tokenizer, "<|endoftext|>") == encode_as_published("<|endoftext|>", folder));
  CHECK(tokenizer->decode(std::vector<std::int64_t>{257}) == "<|endoftext|>");
}

TEST_CASE("gpt2 reads back from preprocessing.json without its folder") {
  auto folder = std::make_unique<TokenizerFolder>(kText);
  const NamedTokenizer made = make_tokenizer(folder->folder().string(), Text());
  const auto ids = ids_of(*made.tokenizer, kText);
  folder.reset();
  const config::Value kept = config::Value::parse(to_json(made).dump());
  CHECK(!kept.contains("folder"));
  CHECK(ids_of(*tokenizer_from_json(kept).tokenizer, kText) == ids);
}

TEST_CASE("a folder without a valid tokenizer is refused with file and line") {
  TokenizerFolder folder;
  CHECK(contains(refusal(folder), "vocab.json: cannot be read"));
  folder.write_merges({{"a", "b"}});
  CHECK(refusal(folder).empty());
  const std::string merges = folder.read("merges.txt");
  for (const char* line : {"a", "a b c", " a b", "a ", "\xFF b"}) {
    folder.write("merges.txt", merges + line + "\n");
    INFO(line);
    CHECK(contains(refusal(folder), "merges.txt:3: is not a merge"));
  }
  folder.write("merges.txt", merges + "a b\n");
  CHECK(contains(refusal(folder), "has the merge \"a b\" twice"));
  folder.write("merges.txt", merges + "ab c\n");
  CHECK(contains(refusal(folder), "lacks the token \"abc\""));
  folder.write("merges.txt", merges);
  for (const char* vocabulary : {"", "[1]", "{\"a\": 0", "{\"a\": -1}", "{\"a\": 0.5}", "{\"a\": 1}", "{\"a\": \"0\"}",
                                 "{\"a\": 0, \"b\": 0}", "{\"\": 0}", "{\"a\": 0, \"a\": 1}", "{}"}) {
    folder.write("vocab.json", vocabulary);
    INFO(vocabulary);
    CHECK(contains(refusal(folder), "vocab.json: is not a vocabulary"));
  }
  folder.write("vocab.json", "{\"a\": 0}");
  CHECK(contains(refusal(folder), "lacks the token \"Ā\""));
}

TEST_CASE("a tokenizer's files with flipped bytes give an error or a tokenizer") {
  TokenizerFolder folder(kText);
  const std::string names[] = {"vocab.json", "merges.txt"};
  std::mt19937 random(3);
  int refused = 0;
  for (const std::string& name : names) {
    const std::string whole = folder.read(name);
    for (int round = 0; round < 1000; ++round) {
      std::string damaged = whole;
      const auto flips = 1 + random() % 3;
      for (std::size_t i = 0; i < flips; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
      if (round % 10 == 0) damaged.resize(random() % damaged.size());
      folder.write(name, damaged);
      try {
        const auto tokenizer = tokenizer_in(folder);
        const auto ids = ids_of(*tokenizer, kText);
        CHECK(std::all_of(ids.begin(), ids.end(), [&](auto id) { return id >= 0 && id < tokenizer->vocab_size(); }));
      } catch (const Error&) {
        ++refused;
      }
    }
    folder.write(name, whole);
  }
  CHECK(refused > 1000);
}

}  // namespace ddp::tokenize
