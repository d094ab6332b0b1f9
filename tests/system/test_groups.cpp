#include "catch.h"
#include "finished_run.h"
#include "long_run.h"

namespace ddp::system_test {
namespace {

const std::string kGroups = R"(groups=[{match="*.bias", momentum=0.9}, {match="0.*", lr_scale=0.5}])";

}  // namespace

TEST_CASE("plan shows each group of parameters with its patterns, its options and its number of parameters") {
  const Workspace w("small.toml", kSmall);
  const Outcome plan = w.done({"plan", "small.toml", "--set", kGroups});
  CHECK(contains(plan.out, "*.bias: 10 parameters in 2 tensors, momentum 0.9"));
  CHECK(contains(plan.out, "0.*: 48 parameters in 1 tensor, lr_scale 0.5"));
  CHECK(contains(plan.out, "the others: 16 parameters in 1 tensor"));
}

TEST_CASE("plan shows each layer with its lr, and names the parameters that no pattern of layers matches") {
  const Workspace w("small.toml", kSmall);
  const auto with = [](const std::string& layers) {
    return with_sets({"plan", "small.toml"}, {"optimizer.layer_decay=0.5", "optimizer.layers=" + layers});
  };
  const Outcome both = w.done(with(R"(["*"])"));
  CHECK(contains(both.out, "0: 56 parameters in 2 tensors, lr_scale 0.5\n"));
  CHECK(contains(both.out, "3: 18 parameters in 2 tensors\n"));
  CHECK(both.err.empty());
  const Outcome unmatched = w.done(with(R"(["3.weight", "0"])"));
  CHECK(contains(unmatched.err, "does not match these parameters, which belong to the first layer: 3.bias\n"));
  CHECK(contains(w.done(with(R"(["3"])")).err,
                 "\"optimizer.layer_decay\" has no effect: all parameters are in one layer"));
  w.refused(with(R"(["0", "3.wieght"])"), {"\"3.wieght\" matches no parameter", "did you mean \"3.weight\"?"});
}

TEST_CASE("a group of parameters that the model or the optimizer does not allow is refused at its line") {
  const Workspace w;
  const auto refused = [&](const std::string& groups, const std::string& said) {
    w.write("small.toml", kSmall + "\n" + groups);
    w.refused({"plan", "small.toml"}, {said});
  };
  refused("[[groups]]\nmatch = \"0.*\"\nmomentum = 0.0\nnesterov = true\n",
          "small.toml:18:12: nesterov needs a momentum and no dampening");
  refused("[[groups]]\nmatch = \"*.bias\"\n[[groups]]\nmatch = \"layer1.*\"\n",
          "\"layer1.*\" matches no parameter of the model");
  refused("[[groups]]\nmatch = [\"*\"]\n[[groups]]\nmatch = \"0.*\"\n",
          "belongs to an earlier group already, such as groups[0]");
}

TEST_CASE("a killed run with groups of parameters resumes to the bits of an uninterrupted run") {
  LongRun run({"--set", kGroups});
  run.process().kill();
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("a killed run whose loss ignores a class resumes to the bits of an uninterrupted run", "[slow]") {
  LongRun run({"--set", "model.out_features=10", "--set", "dataset={name=\"digits\"}", "--set", "model.in_features=64",
               "--set", "loss={name=\"cross_entropy\", ignore_index=3}", "--set", "accumulate=2"});
  run.process().kill();
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("a run resumes with other groups of parameters") {
  const FinishedRun small(kSmall,
                          {"epochs=2", "optimizer={name=\"adamw\"}", "groups=[{match=\"ndim<2\", weight_decay=0.0}]"});
  const Outcome fork = small.workspace.done(
      {"fork", "small", "--name", "other", "--set", "epochs=3", "--set", "groups=[{match=\"0.*\", lr_scale=0.1}]"});
  CHECK(fork.run.model() != small.model);
}

}  // namespace ddp::system_test
