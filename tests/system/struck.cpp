#include "struck.h"

#include <csignal>

#include "catch.h"

namespace ddp::system_test {

KilledAndWhole kill_and_resume(const Workspace& w, const std::string& name, const Words& sets) {
  const Words command = with_sets({"run", name + ".toml"}, sets);
  const auto process = w.start(joined(command, {"--set", "epochs=100000"}));
  const RunFolder killed = w.running(*process, name, 30);
  process->kill();
  const std::int64_t steps_an_epoch = killed.events("epoch").at(0).at("step");
  const std::string epochs = "epochs=" + std::to_string(killed.last_step() / steps_an_epoch + 2);
  w.done({"resume", name, "--set", epochs});
  const RunFolder whole = w.done(joined(command, {"--set", epochs, "--name", "whole"})).run;
  check_same(killed, whole);
  CHECK(killed.optimizer() == whole.optimizer());
  return {.killed = killed, .whole = whole};
}

}  // namespace ddp::system_test
