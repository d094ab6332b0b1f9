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
  process->signal(SIGKILL);
  process->wait();
  const auto steps = "steps=" + std::to_string(killed.last_step() + 20);
  const Outcome rest = w.run({"resume", killed.path(), "--set", steps});
  INFO(rest.err);
  REQUIRE(rest.code == 0);
  const Outcome whole = w.run({"run", "text.toml", "--name", "whole", "--set", steps});
  REQUIRE(whole.code == 0);
  CHECK(rest.run.model() == whole.run.model());
  CHECK(rest.run.training() == whole.run.training());
}

std::string refusal(const Workspace& w, const std::string& more, const std::string& rest) {
  write_experiment(w, more, rest);
  const Outcome outcome = w.run({"validate", "text.toml"});
  return outcome.code == 2 ? outcome.err : "exit " + std::to_string(outcome.code);
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
  const Outcome run = w.run({"run", "text.toml"});
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(contains(run.run.model(), "\"lm_head.weight\""));
  CHECK(contains(run.run.model(), "\"transformer.wte.weight\""));
  const std::string optimizer = text_of(run.run.path() / "checkpoints" / "latest" / "optimizer.safetensors");
  CHECK(contains(optimizer, "transformer.wte.weight"));
  CHECK_FALSE(contains(optimizer, "lm_head.weight"));
}

TEST_CASE("random offsets have no epochs, and settings in epochs are refused with their line") {
  const Workspace w;
  CHECK(contains(refusal(w, kRandom, ""), "sampling = \"random\" has no epochs"));
  CHECK(contains(refusal(w, kRandom, "epochs = 2\n"), "text.toml:8:"));
  CHECK(contains(refusal(w, kRandom, "steps = 9\nsave_every = 2\n"), "text.toml:9:"));
  CHECK(contains(refusal(w, kRandom, "steps = 9\nsave_every = 2\n"), "save_every counts them"));
  CHECK(contains(refusal(w, kRandom, "steps = 9\nvalidation = { split = 0.1, every = 2 }\n"),
                 "validation.every counts them"));
  CHECK(refusal(w, kRandom, "steps = 9\nvalidation = { split = 0.1, every = \"2 steps\" }\n") == "exit 0");
  CHECK(refusal(w, "", "epochs = 2\nsave_every = 2\n") == "exit 0");
}

TEST_CASE("the folder of a tokenizer is relative to the file, and the names of tokenizers are not folders") {
  const Workspace w;
  CHECK(contains(refusal(w, ", tokenizer = \"words\"", "steps = 1\n"), "there is no such file"));
  CHECK(refusal(w, ", tokenizer = \"byte\"", "steps = 1\n") == "exit 0");
  write_experiment(w, "", "steps = 1\n");
  CHECK(contains(w.run({"validate", "text.toml", "--set", "dataset.path=b*.txt"}).err, "b*.txt"));
}

}  // namespace ddp::system_test
