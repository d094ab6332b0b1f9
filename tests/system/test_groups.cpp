#include "catch.h"
#include "finished_run.h"
#include "long_run.h"

namespace ddp::system_test {
namespace {

const std::string kGroups = R"(groups=[{match="*.bias", momentum=0.9}, {match="0.*", lr_scale=0.5}])";

std::string refused_groups(const std::string& groups) {
  const Workspace w;
  w.write("small.toml", kSmall + "\n" + groups);
  const Outcome plan = w.run({"plan", "small.toml"});
  CHECK(plan.code == 2);
  return plan.err;
}

}  // namespace

TEST_CASE("plan shows each group of parameters with its patterns, its options and its number of parameters") {
  const Workspace w;
  w.write("small.toml", kSmall);
  const Outcome plan = w.run({"plan", "small.toml", "--set", kGroups});
  INFO(plan.err);
  REQUIRE(plan.code == 0);
  CHECK(contains(plan.out, "*.bias: 10 parameters in 2 tensors, momentum 0.9"));
  CHECK(contains(plan.out, "0.*: 48 parameters in 1 tensor, lr_scale 0.5"));
  CHECK(contains(plan.out, "the others: 16 parameters in 1 tensor"));
}

TEST_CASE("a mistake in a group of parameters is shown at its line, with the allowed values") {
  const std::string lr = refused_groups("[[groups]]\nmatch = \"0.*\"\nlr = 0.5\n");
  CHECK(contains(lr, "a group has no \"lr\", it has \"lr_scale\""));
  const std::string unknown = refused_groups("[[groups]]\nmatch = \"0.*\"\namsgrad = true\n");
  CHECK(contains(unknown, "optimizer sgd has no option \"amsgrad\""));
  CHECK(contains(unknown, "match, lr_scale, momentum"));
  const std::string nesterov = refused_groups("[[groups]]\nmatch = \"0.*\"\nmomentum = 0.0\nnesterov = true\n");
  CHECK(contains(nesterov, "small.toml:18:12: nesterov needs a momentum and no dampening"));
  CHECK_FALSE(contains(nesterov, "[optimizer]"));
  CHECK(contains(refused_groups("[[groups]]\nmomentum = 0.9\n"), "\"groups[0].match\" is missing"));
  CHECK(contains(refused_groups("[[groups]]\nmatch = []\n"), "\"groups[0].match\" is empty"));
  CHECK(contains(refused_groups("[[groups]]\nmatch = \"ndim<two\"\n"), "has an invalid condition: \"ndim<two\""));
  const std::string unmatched = refused_groups("[[groups]]\nmatch = \"*.bias\"\n[[groups]]\nmatch = \"layer1.*\"\n");
  CHECK(contains(unmatched, "\"layer1.*\" matches no parameter of the model"));
  CHECK(contains(unmatched, "match = \"layer1.*\""));
  CHECK(contains(refused_groups("[[groups]]\nmatch = [\"*\"]\n[[groups]]\nmatch = \"0.*\"\n"),
                 "belongs to an earlier group already, such as groups[0]"));
}

TEST_CASE("a killed run with groups of parameters resumes to the bits of an uninterrupted run") {
  LongRun run({"--set", kGroups});
  run.process().signal(SIGKILL);
  REQUIRE(wait_until([&] { return run.process().all_gone(); }));
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("a killed run whose loss ignores a class resumes to the bits of an uninterrupted run", "[slow]") {
  LongRun run({"--set", "model.out_features=10", "--set", "dataset={name=\"digits\"}", "--set", "model.in_features=64",
               "--set", "loss={name=\"cross_entropy\", ignore_index=3}", "--set", "accumulate=2"});
  run.process().signal(SIGKILL);
  REQUIRE(wait_until([&] { return run.process().all_gone(); }));
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("a run resumes with other groups of parameters") {
  const FinishedRun small(kSmall,
                          {"epochs=2", "optimizer={name=\"adamw\"}", "groups=[{match=\"ndim<2\", weight_decay=0.0}]"});
  const Outcome fork = small.workspace.run(
      {"fork", "small", "--name", "other", "--set", "epochs=3", "--set", "groups=[{match=\"0.*\", lr_scale=0.1}]"});
  INFO(fork.err);
  REQUIRE(fork.code == 0);
  CHECK(fork.run.model() != small.model);
}

}  // namespace ddp::system_test
