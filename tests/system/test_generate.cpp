#include <fstream>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace {

// A tokenizer.json like Llama's, in which ▁ stands for a blank.
constexpr const char* kWords = R"({
  "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
  "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
  "model": {"type": "BPE", "merges": ["l i", "li n", "lin e", "▁ line"], "vocab": {"n": 0, "a": 1, "ï": 2, "v": 3, "e": 4,
    "l": 5, "i": 6, "▁": 7, "\n": 8, "0": 9, "1": 10, "li": 11, "lin": 12, "line": 13, "▁line": 14}}})";

// A tiny gpt on a text of the test, trained by two ranks for a few steps: results/text/run.
struct TextModel : Workspace {
  explicit TextModel(const std::string& tokenizer = "char", const std::string& rest = "") {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "naïve line " + std::to_string(i * i % 97) + "\n";
    write("a.txt", text);
    write("words.json", kWords);
    write("text.toml", "dataset = { name = \"text\", path = \"a.txt\", block_size = 16, tokenizer = \"" + tokenizer +
                           "\" }\n"
                           "model = { name = \"gpt\", n_layer = 1, n_head = 2, n_embd = 16, dropout = 0.5 }\n"
                           "optimizer = { name = \"adamw\", lr = 1e-2 }\ndevice_pool = [\"cpu\", \"cpu\"]\n"
                           "batch_size = 8\nthreads = 1\nsteps = 10\n" +
                           rest);
    done({"run", "text.toml", "--run-id", "run"});
  }

  std::string generated(const Words& words) const {
    const Outcome outcome = done(joined({"generate", "text"}, words));
    CHECK(outcome.err.empty());
    return outcome.out;
  }
  // Requires this exit code, nothing on stdout, and these words.
  void check_refused(const Words& words, const Words& said) const {
    refused(joined({"generate", "text"}, words), said);
  }
};

}  // namespace

TEST_CASE("generate prints the prompt and the requested number of tokens, the same for a seed and any training ranks") {
  const TextModel t;
  const std::string text = t.generated({"--prompt", "naï", "--tokens", "50"});
  CHECK(text.starts_with("naï"));
  CHECK(text.ends_with("\n"));
  const Json json = Json::parse(t.generated({"--prompt", "naï", "--tokens", "50", "--json"}));
  CHECK(json.at("tokens").size() == 50);
  CHECK(json.at("step") == 10);
  CHECK(json.at("prompt").get<std::string>() + json.at("continuation").get<std::string>() + "\n" == text);
  CHECK(t.generated({"--prompt", "naï", "--tokens", "50", "--seed", "42", "--top-k", "200", "--temperature", "0.8"}) ==
        text);
  CHECK(t.generated({"--prompt", "naï", "--tokens", "50", "--set", "device_pool=[\"cpu\", \"cpu\", \"cpu\"]"}) == text);
  CHECK(t.generated({"--prompt", "naï", "--tokens", "50", "--seed", "43"}) != text);
  // The first tokens do not depend on the number of tokens.
  const std::string shorter = t.generated({"--prompt", "naï", "--tokens", "20"});
  CHECK(text.starts_with(shorter.substr(0, shorter.size() - 1)));
  CHECK(t.generated({"--prompt", "naï", "--tokens", "0"}) == "naï\n");
}

TEST_CASE("generate without temperature takes the likeliest token, as with top_k of one") {
  const TextModel t;
  const std::string likeliest = t.generated({"--prompt", "l", "--tokens", "40", "--temperature", "0"});
  CHECK(t.generated({"--prompt", "l", "--tokens", "40", "--temperature", "0", "--seed", "7"}) == likeliest);
  CHECK(t.generated({"--prompt", "l", "--tokens", "40", "--top-k", "1"}) == likeliest);
}

TEST_CASE("generate prints UTF-8 for any bytes of the model") {
  const TextModel t("byte");
  // Hot enough that all bytes are almost equally likely.
  const Words hot{"--prompt", "na\xC3", "--tokens", "300", "--temperature", "1e6", "--top-k", "256"};
  const std::string text = t.generated(hot);
  CHECK(contains(text, "\uFFFD"));
  CHECK_NOTHROW(Json(text).dump());  // dump() accepts only UTF-8
  Words as_json = hot;
  as_json.push_back("--json");
  CHECK(Json::parse(t.generated(as_json)).at("tokens").size() == 300);
}

TEST_CASE("generate puts blanks before the words of a tokenizer.json, which may be gone") {
  const TextModel t("words.json");
  std::filesystem::remove(t.folder() / "words.json");
  const std::string text = t.generated({"--prompt", "line 1", "--tokens", "200"});
  CHECK(text.starts_with("line 1"));
  CHECK(contains(text.substr(6), " line"));
}

TEST_CASE("generate works with any model that scores the next token at every position") {
  const TextModel t("byte");
  // A table of the next byte for each byte.
  t.write("bigram.toml",
          "extends = \"text.toml\"\nsteps = 60\n[model]\nname = \"sequential\"\nlayers = [\n"
          "  { type = \"Embedding\", num_embeddings = 256, embedding_dim = 16 },\n"
          "  { type = \"Linear\", in_features = 16, out_features = 256 },\n]\n");
  t.done({"run", "bigram.toml"});
  const Outcome outcome = t.done({"generate", "bigram", "--prompt", "v", "--tokens", "2", "--temperature", "0"});
  CHECK(outcome.out == "ve \n");
}

TEST_CASE("generate takes the best checkpoint of a run with validation, or the one that --from names") {
  const TextModel t("char", "validation = { split = 0.2, every = \"5 steps\" }\ncheckpoint = { keep_best = 5 }\n");
  const auto step = [&](Words from) {
    from.insert(from.end(), {"--prompt", "l", "--tokens", "1", "--json"});
    return Json::parse(t.generated(from)).at("step");
  };
  CHECK(step({"--from", "5"}) == 5);
  CHECK(step({"--from", "latest"}) == 10);
  CHECK(step({}) == step({"--from", "best"}));
  t.check_refused({"--from", "77", "--prompt", "l", "--tokens", "1"}, {"no complete checkpoint of step 77"});
}

TEST_CASE("generate skips a damaged checkpoint, and takes the next one if a run that trains has replaced it") {
  const TextModel t("char", "checkpoint = { save_every_steps = 5, keep_last = 5 }\n");
  const std::filesystem::path newest = t.results() / "text" / "run" / "checkpoints" / "step-00000010";
  const Words arguments{"generate", "text", "--prompt", "l", "--tokens", "1", "--json"};
  const Outcome replaced = t.done(arguments, {"the run replaced step-00000010 meanwhile"},
                                  {{"LD_PRELOAD", DDP_REPLACED_CHECKPOINT}, {"DDP_REPLACED", newest}});
  CHECK(Json::parse(replaced.out).at("step") == 5);
  std::filesystem::rename(newest.parent_path() / ".gone", newest);
  std::filesystem::resize_file(newest / "model.safetensors", 100);
  const Outcome damaged = t.done(arguments, {"step-00000010 is skipped: model.safetensors is damaged"});
  CHECK(Json::parse(damaged.out).at("step") == 5);
}

TEST_CASE("generate refuses a prompt that it cannot continue, with the remedy") {
  const TextModel t;
  t.check_refused({"--prompt", "line Ω", "--tokens", "1"}, {"--prompt: byte 5", "\"Ω\" (U+03A9)", "does not occur"});
  t.check_refused({"--prompt", "line \xFF", "--tokens", "1"}, {"--prompt: byte 5", "UTF-8"});
  t.check_refused({"--prompt", "", "--tokens", "1"}, {"--prompt", "is empty"});
  t.check_refused({"--tokens", "1"}, {"--prompt"});
  t.check_refused({"--prompt", "l"}, {"--tokens"});
  t.check_refused({"--prompt", "l", "--tokens", "-1"}, {"--tokens", "-1"});
  t.check_refused({"--prompt", "l", "--tokens", "many"}, {"--tokens", "many"});
  for (const std::string bad : {"-1", "nan", "inf"}) {
    t.check_refused({"--prompt", "l", "--tokens", "1", "--temperature=" + bad}, {"--temperature"});
  }
  t.check_refused({"--prompt", "l", "--tokens", "1", "--top-k", "0"}, {"--top-k"});
  t.check_refused({"--prompt", "l", "--tokens", "1", "--seed", "-1"}, {"--seed"});
}

TEST_CASE("a temperature that makes scores overflow is refused") {
  const TextModel t;
  const Outcome outcome =
      t.ends(2, words_of("generate text --prompt l --tokens 1 --temperature 1e-300"), {"--temperature: is too small"});
  CHECK(outcome.out == "l\n");
}

TEST_CASE("generate refuses runs that were not trained on text, with the remedy") {
  const Workspace w;
  std::ofstream(w.folder() / "t.bin", std::ios::binary) << std::string(2000, '\1');
  w.write("tokens.toml",
          "dataset = { name = \"tokens\", path = \"t.bin\", block_size = 16 }\n"
          "model = { name = \"gpt\", n_layer = 1, n_head = 2, n_embd = 16 }\ndevice_pool = [\"cpu\"]\n"
          "batch_size = 4\nthreads = 1\nsteps = 1\n");
  w.write("small.toml", kSmall);
  w.done({"run", "tokens.toml"});
  w.done({"run", "small.toml", "--set", "epochs=1"});
  const Outcome tokens = w.refused({"generate", "tokens", "--prompt", "a", "--tokens", "1"},
                                   {"was not trained on text with a tokenizer", "train on the dataset text"});
  w.refused({"generate", "small", "--prompt", "a", "--tokens", "1"}, {"was not trained on text"});
  w.refused({"generate", "nobody", "--prompt", "a", "--tokens", "1"}, {});
}

TEST_CASE("weights whose scores are not finite are reported") {
  const TextModel t("char", "on_nan = \"skip\"\n");
  const Outcome spoiled = t.done({"run", "text.toml", "--run-id", "spoiled", "--set", "optimizer.lr=1e30"});
  t.refused({"generate", "text/spoiled", "--prompt", "l", "--tokens", "1"}, {"not finite", "--from"});
}

TEST_CASE("generate prints its text as it is drawn, and a signal ends it on a line of its own") {
  const TextModel t;
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto process = t.start({"generate", "text", "--prompt", "line", "--tokens", "100000000"});
    REQUIRE(wait_until([&] { return process->out().size() > 100; }, process->pid()));
    process->signal(signal);
    CHECK(process->wait() == 128 + signal);
    CHECK(process->members().empty());
    CHECK(process->out().starts_with("line"));
    CHECK(process->out().ends_with("\n"));
    INFO(process->err());
    CHECK(contains(process->err(), "stopped by a signal"));
    CHECK_FALSE(contains(process->err(), "nothing was written"));
  }
}

TEST_CASE("generate ends at a closed pipe or a full disk") {
  const TextModel t;
  const std::string begin = "cd '" + t.folder().string() + "' && ";
  const std::string command = std::string("'") + DDP_EXP + "' generate text --prompt line --tokens 100000000 2>err.txt";
  CHECK(std::system((begin + command + " | head -c 50 >head.txt").c_str()) == 0);
  CHECK(text_of(t.folder() / "head.txt").size() == 50);
  CHECK(std::system((begin + command + " >/dev/full").c_str()) != 0);
  CHECK(contains(text_of(t.folder() / "err.txt"), "some output is lost"));
}

}  // namespace ddp::system_test
