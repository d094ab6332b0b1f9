// Settings that the shell has split at their blanks.
#include "catch.h"
#include "looking.h"
#include "workspace.h"

namespace ddp::system_test {

TEST_CASE("a setting that the shell has split at its blanks is answered with the setting as one word") {
  const Workspace w;
  w.write("tiny.toml", kTiny);
  struct SplitSetting {
    std::string set;
    std::string word;
  };
  const std::vector<SplitSetting> splits = {{"--set epochs = 5", "epochs=5"},
                                            {"--set epochs= 5", "epochs=5"},
                                            {"--set epochs =5", "epochs=5"},
                                            {"--set epochs 5", "epochs=5"},
                                            {"--set=epochs = 5", "epochs=5"},
                                            {"--set epochs =", "epochs=VALUE"},
                                            {"--set optimizer.lr -1", "optimizer.lr=-1"},
                                            {"--set seed=1 --set epochs = 5", "epochs=5"},
                                            {"--set device_pool=[cpu, cpu]", "'device_pool=[\"cpu\", \"cpu\"]'"},
                                            {"--set metrics=[\"mae\", \"r2\"]", "'metrics=[\"mae\", \"r2\"]'"}};
  for (const std::string command :
       {"run tiny.toml", "plan tiny.toml", "validate tiny.toml", "sweep tiny.toml", "resume", "resume tiny",
        "fork tiny", "eval tiny", "predict tiny", "predict tiny x.csv", "generate tiny", "slurm tiny.toml", "run"}) {
    for (const auto& [set, word] : splits) {
      const Outcome answer = w.run(words_of(command + " " + set), with_program_on_path());
      INFO(command << " " << set << "\n" << answer.err);
      CHECK(answer.code == 2);
      CHECK(contains(answer.err,
                     "is not one word\n  write it without blanks, or in single quotes: --set " + word + "\n"));
    }
  }
}

TEST_CASE("a setting without a value does not take the file behind it") {
  const Workspace w;
  w.write("tiny.toml", kTiny);
  CHECK(contains(w.run({"run", "--set", "epochs=", "tiny.toml"}).err, "--set 1: the value is missing"));
  CHECK(contains(w.run({"run", "--set", "epochs", "tiny.toml"}).err, "--set 1: not an assignment"));
  CHECK(w.run({"validate", "--set", " epochs = 5 ", "--set", "device_pool=[ \"cpu\" ]", "tiny.toml"}).code == 0);
}

}  // namespace ddp::system_test
