#include "long_run.h"

#include "catch.h"

namespace ddp::system_test {
namespace {

Words command(Words arguments) {
  arguments.insert(arguments.begin(), {"run", "small.toml"});
  return arguments;
}

std::int64_t saved_step(const RunFolder& run) {
  return json_of(run.path() / "checkpoints/latest/state.json").at("step");
}

}  // namespace

LongRun::LongRun(Words arguments) : arguments_(std::move(arguments)), folder_("") {
  workspace_.write("small.toml", kSmall + "[checkpoint]\nsave_every_steps = 5\n");
  const Words endless = joined(arguments_, {"--set", "epochs=1000000"});
  process_ = workspace_.start(command(endless));
  folder_ = workspace_.running(*process_, "small", 12);
}

void LongRun::resume_and_wait() {
  const std::int64_t before = saved_step(folder_);
  process_ = workspace_.start({"resume", "small"});
  REQUIRE(wait_until([&] { return folder_.last_step() >= before + 12; }, process_->pid()));
}

void LongRun::check_resumes_to_the_same_bits() {
  const std::string epochs = "epochs=" + std::to_string(saved_step(folder_) / 5 + 2);
  const Outcome resumed = workspace_.run({"resume", "small", "--set", epochs});
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  CHECK_FALSE(resumed.left);
  CHECK(folder_.summary().at("status") == "completed");
  CHECK(folder_.summary().at("error").is_null());
  const Words whole = joined(arguments_, {"--set", epochs, "--name", "whole"});
  const Outcome never = workspace_.run(command(whole));
  REQUIRE(never.code == 0);
  CHECK(folder_.has_each_step_once(never.run.last_step()));
  check_same(folder_, never.run);
  CHECK(folder_.optimizer() == never.run.optimizer());
  const auto losses = [](const RunFolder& run) {
    std::vector<double> list;
    for (const auto& line : run.events("epoch")) list.push_back(line.at("train_loss"));
    return list;
  };
  CHECK(losses(folder_) == losses(never.run));
}

}  // namespace ddp::system_test
