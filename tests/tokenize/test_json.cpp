#include <random>
#include <string>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "errors.h"
#include "scratch_folder.h"
#include "tokenize/pattern.h"
#include "vocabulary.h"
#include "words.h"

namespace ddp::tokenize {
namespace {

using Json = nlohmann::json;

// Like Llama's: ▁ stands for a blank, and bytes for characters without a token.
Json llama() {
  Json vocabulary = {{"<unk>", 0}, {"▁", 1}, {"a", 2}, {"b", 3}, {"ab", 4}, {"▁ab", 5}, {"<0xC3>", 6}, {"<0xA9>", 7}};
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  const Json back = {{"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}};
  return {{"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"byte_fallback", true},
            {"vocab", vocabulary},
            {"merges", {"a b", Json::array({"▁", "ab"})}}}},
          {"added_tokens", {{{"id", 8}, {"content", "<s>"}, {"special", true}, {"rstrip", true}}}},
          {"normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Prepend"}, {"prepend", "▁"}}, replace}}}},
          {"decoder",
           {{"type", "Sequence"},
            {"decoders",
             {back,
              {{"type", "ByteFallback"}},
              {{"type", "Fuse"}},
              {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}}};
}

class JsonFile : public ScratchFolder {
 public:
  std::shared_ptr<const Tokenizer> read(const std::string& text) const {
    write("tokenizer.json", text);
    return make_tokenizer((folder() / "tokenizer.json").string(), Text()).tokenizer;
  }
  std::string refusal(const Json& json) const {
    return error_of([&] { read(json.dump()); });
  }
};

}  // namespace

TEST_CASE("a tokenizer.json like Llama's encodes and decodes, and is kept without its file") {
  using Ids = std::vector<std::int64_t>;
  const JsonFile file;
  const auto made = file.read(llama().dump());
  CHECK(made->vocab_size() == 9);
  const auto kept = tokenizer_from_json(config::Value::parse(to_json({.name = "json", .tokenizer = made}).dump()));
  for (const auto& tokenizer : {made, kept.tokenizer}) {
    CHECK(ids_of(*tokenizer, "ab ab") == Ids{5, 5});
    CHECK(ids_of(*tokenizer, "é<s>  abz") == Ids{1, 6, 7, 8, 5, 0});
    CHECK(tokenizer->decode(Ids{5, 5}) == "ab ab");
    CHECK(tokenizer->decode(Ids{5, 6, 7, 8}) == "abé<s>");
    // A text may have more tokens than bytes.
    CHECK(ids_of(*tokenizer, "b") == Ids{1, 3});
  }
  CHECK(ids_of(*made, "").empty());
}

TEST_CASE("a text without blanks takes at most some seconds where nothing cuts it into words, or of marks") {
  const JsonFile file;
  std::string text;
  std::mt19937 random(1);
  while (text.size() < 1'000'000) text += "ab"[random() % 2];
  const auto tokenizer = file.read(llama().dump());
  CHECK(tokenizer->decode(ids_of(*tokenizer, text)) == text);
  Json json = llama();
  json["normalizer"] = {{"type", "NFC"}};
  std::string marks = "a";
  for (int i = 0; i < 200'000; ++i) marks += "\u0301\u0323";
  CHECK(ids_of(*file.read(json.dump()), marks).size() == 400'000);
}

TEST_CASE("a run of ten million equal characters is cut by Llama 3's regular expression") {
  const Pattern pattern(
      R"((?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
  for (const char c : {' ', 'a', '!', '\n'}) {
    std::string text(10'000'000, c);
    text.push_back('x');
    std::size_t size = 0;
    pattern.cut(text, [&](std::string_view part, bool) { size += part.size(); });
    CHECK(size == text.size());
  }
}

TEST_CASE("what a tokenizer.json has and this program has not is refused by name") {
  const JsonFile file;
  const auto with = [&](const char* place, const Json& value) {
    Json json = llama();
    json[Json::json_pointer(place)] = value;
    return file.refusal(json);
  };
  CHECK(file.refusal(llama()).empty());
  CHECK(contains(with("/model/type", "Unigram"), "the model \"Unigram\" is not supported; this is: BPE"));
  CHECK(contains(with("/model/dropout", 0.1), "\"dropout\" is not supported"));
  CHECK(contains(with("/model/continuing_subword_prefix", "##"), "\"continuing_subword_prefix\" is not supported"));
  CHECK(contains(with("/model/unk_token", "?"), "lacks the token \"?\""));
  CHECK(contains(with("/model/fuse_unk", "yes"), "\"fuse_unk\" has a wrong type"));
  CHECK(contains(with("/model/merges", {"a  b"}), "its merge \"\"a  b\"\" is not"));
  CHECK(contains(with("/model/merges", {"a a"}), "lacks the token \"aa\""));
  CHECK(contains(with("/model/vocab/c", 4), "two tokens have the id 4"));
  CHECK(contains(with("/model/vocab/c", 1 << 30), "the id of \"c\" is not one of 0 to"));
  CHECK(contains(with("/added_tokens/0/id", 12), "\"<s>\" has the id 12, and its place is 8"));
  CHECK(contains(with("/added_tokens/0/single_word", true), "\"<s>\" has \"single_word\", which is not supported"));
  CHECK(contains(with("/normalizer", {{"type", "Strip"}}), "the normalizer \"Strip\" is not supported; these are: "));
  CHECK(contains(with("/normalizer/normalizers", 3), "the normalizer Sequence has no list"));
  CHECK(contains(with("/pre_tokenizer", {{"type", "BertPreTokenizer"}}), "the pre_tokenizer \"BertPreTokenizer\""));
  CHECK(contains(with("/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "a"}}}, {"behavior", "Cut"}}),
                 "the behavior \"Cut\" is not supported; these are: Isolated"));
  CHECK(contains(with("/pre_tokenizer", {{"type", "Metaspace"}}), "\"Metaspace\" is not supported; these are: "));
  CHECK(contains(with("/decoder", {{"type", "CTC"}}), "the decoder \"CTC\" is not supported"));
  for (const char* regex : {"[a&&b]", "[a[b]]", "(?<n>a)", "(?m)a", "(*FAIL)", "\\ba", "a{1,2}+", "a{,2}", "[a", "a\\",
                            "(a", "\\1", "\\x{", "\\p{Xy}", "\\p{Han}", "\\w", "[\\S]", "[]a]"}) {
    INFO(regex);
    CHECK(
        contains(with("/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}}),
                 "the regular expression"));
  }
  CHECK(contains(error_of([&] { file.read("{}"); }), "tokenizer.json: is not a tokenizer: \"model\" is missing"));
  CHECK(contains(error_of([&] { file.read("{"); }), "it is not JSON"));
  CHECK(contains(error_of([&] { make_tokenizer("none/tokenizer.json", Text()); }), "tokenizer.json: cannot be read"));
}

TEST_CASE("a tokenizer.json with other values in its places gives an error or a tokenizer") {
  const JsonFile file;
  const Json whole = llama().flatten();
  const Json values[] = {nullptr, true, -1, 3, 1e300, "", "▁", "\\", "(", Json::array(), Json::object(), {1, 2}};
  int refused = 0;
  for (const auto& [place, old] : whole.items()) {
    for (const Json& value : values) {
      Json json = llama();
      json[Json::json_pointer(place)] = value;
      INFO(json.dump());
      try {
        const auto tokenizer = file.read(json.dump());
        tokenizer->decode(ids_of(*tokenizer, "ab é<s> \n"));
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  CHECK(refused > 100);
}

}  // namespace ddp::tokenize
