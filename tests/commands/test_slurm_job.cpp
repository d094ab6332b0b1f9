#include <cstdio>

#include "base/own_command.h"
#include "catch.h"
#include "commands/cluster/slurm_job.h"

namespace ddp::commands {
namespace {

// The output of a command in bash.
std::string said_by_bash(const std::string& command) {
  FILE* output = popen(("exec bash -c " + shell_word(command)).c_str(), "r");
  REQUIRE(output != nullptr);
  std::string text;
  char piece[256];
  for (std::size_t size; (size = fread(piece, 1, sizeof piece, output)) > 0;) text.append(piece, size);
  CHECK(pclose(output) == 0);
  return text;
}

}  // namespace

TEST_CASE("times are read as sbatch reads them") {
  CHECK(slurm_seconds("30") == 30 * 60);
  CHECK(slurm_seconds("10:30") == 10 * 60 + 30);
  CHECK(slurm_seconds("1:00:00") == 3600);
  CHECK(slurm_seconds("2-12") == 60 * 3600);
  CHECK(slurm_seconds("1-02:03") == 26 * 3600 + 3 * 60);
  CHECK(slurm_seconds("1-02:03:04") == 26 * 3600 + 3 * 60 + 4);
  CHECK(slurm_seconds("0") == 0);
  CHECK(slurm_seconds("UNLIMITED") == 0);
  CHECK(slurm_seconds("infinite") == 0);
}

TEST_CASE("a text that sbatch would refuse is not a time") {
  for (const std::string time : {"", "1h", "1:", ":30", "1:2:3:4", "-5", "1-", "-", "1-2-3", "1:2-3", "1.5", " 30",
                                 "30 ", "99999999999999999999", "1-2:3:4:5", "soon"}) {
    INFO(time);
    CHECK_FALSE(slurm_seconds(time));
  }
}

TEST_CASE("shell_word keeps all characters of a word through a shell") {
  for (const std::string text :
       {"plain", "",   " ",   "two words", "it's", "\"", "$HOME", "`id`", "$(id)", "a\\b", "*",     "#",
        "~",     "!x", "a;b", "a&&b",      "'",    "''", "\\'",   "-n",   "ü€",    "a=b",  "{1,2}", "x=[1, 2]"}) {
    INFO(text);
    CHECK(said_by_bash("printf '<%s>' " + shell_word(text)) == "<" + text + ">");
  }
  CHECK(shell_word("/a/b-c_d.toml") == "/a/b-c_d.toml");
  CHECK(shell_word("optimizer.lr=0.1") == "optimizer.lr=0.1");
}

}  // namespace ddp::commands
