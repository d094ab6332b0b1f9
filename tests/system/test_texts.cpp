#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace {

// A small gpt with dropout on a text of the test. `more`: keys of [dataset]; `rest`: further keys.
void write_experiment(const Workspace& w, const std::string& more, const std::string& rest) {
  std::string text;
  for (int i = 0; i < 600; ++i) text += "line " + std::to_string(i * i % 97) + " of the text\n";
  w.write("a.txt", text);
  w.write("text.toml",
          "dataset = { name = \"text\", path = \"*.txt\", block_size = 16" + more +
              " }\n"
              "model = { name = \"gpt\", n_layer = 1, n_head = 2, n_embd = 16, block_size = 16, vocab_size = 21, "
              "dropout = 0.1 }\n"
              "optimizer = { name = \"adamw\", lr = 1e-3 }\ndevice_pool = [\"cpu\", \"cpu\"]\nbatch_size = 4\n"
              "accumulate = 2\nthreads = 1\n" +
              rest);
}

// Kills a run with SIGKILL after a save inside an epoch, resumes it to some later step, and compares it with an
// uninterrupted run.
void check_kill_and_resume(const Workspace& w) {
  const auto process = w.start({"run", "text.toml", "--name", "killed", "--set", "steps=1000000"});
  const RunFolder killed = w.running(*process, "killed", 30);
  process->kill();
  const auto steps = "steps=" + std::to_string(killed.last_step() + 20);
  const Outcome rest = w.done({"resume", killed.path(), "--set", steps});
  const Outcome whole = w.done({"run", "text.toml", "--name", "whole", "--set", steps});
  check_same(rest.run, whole.run);
}

const std::string kRandom = ", sampling = \"random\"";

}  // namespace

TEST_CASE("a run on random offsets that is killed at any step resumes to the same bits") {
  const Workspace w;
  write_experiment(w, kRandom,
                   "checkpoint = { save_every_steps = 7 }\nvalidation = { split = 0.1, every = \"10 steps\" }\n");
  check_kill_and_resume(w);
}

TEST_CASE("a run on blocks that is killed inside an epoch resumes to the same bits") {
  const Workspace w;
  write_experiment(w, "", "checkpoint = { save_every_steps = 7 }\n");
  check_kill_and_resume(w);
}

TEST_CASE("both sides of a tied weight are in the checkpoint and are one parameter for the optimizer") {
  const Workspace w;
  write_experiment(w, "", "steps = 2\n");
  const Outcome run = w.done({"run", "text.toml"});
  CHECK(contains(run.run.model(), "\"lm_head.weight\""));
  CHECK(contains(run.run.model(), "\"transformer.wte.weight\""));
  const std::string optimizer = text_of(run.run.path() / "checkpoints" / "latest" / "optimizer.safetensors");
  CHECK(contains(optimizer, "transformer.wte.weight"));
  CHECK_FALSE(contains(optimizer, "lm_head.weight"));
}

TEST_CASE("random offsets have no epochs, and settings in epochs are refused with their line") {
  const Workspace w;
  for (const auto& [rest, said] : std::vector<std::pair<std::string, Words>>{
           {"", {"sampling = \"random\" has no epochs"}},
           {"epochs = 2\n", {"text.toml:8:"}},
           {"steps = 9\nsave_every = 2\n", {"text.toml:9:", "save_every counts them"}},
           {"steps = 9\nvalidation = { split = 0.1, every = 2 }\n", {"validation.every counts them"}}}) {
    write_experiment(w, kRandom, rest);
    w.refused({"validate", "text.toml"}, said);
  }
  write_experiment(w, kRandom, "steps = 9\nvalidation = { split = 0.1, every = \"2 steps\" }\n");
  w.done({"validate", "text.toml"});
  write_experiment(w, "", "epochs = 2\nsave_every = 2\n");
  w.done({"validate", "text.toml"});
}

TEST_CASE("the folder of a tokenizer is relative to the file, and the names of tokenizers are not folders") {
  const Workspace w;
  write_experiment(w, ", tokenizer = \"words\"", "steps = 1\n");
  w.refused({"validate", "text.toml"}, {"there is no such file"});
  write_experiment(w, ", tokenizer = \"byte\"", "steps = 1\n");
  w.done({"validate", "text.toml"});
  w.refused({"validate", "text.toml", "--set", "dataset.path=b*.txt"}, {"b*.txt"});
}

}  // namespace ddp::system_test
