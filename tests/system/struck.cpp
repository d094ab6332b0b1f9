#include "struck.h"

#include <csignal>

#include "catch.h"

namespace ddp::system_test {

KilledAndWhole kill_and_resume(const Workspace& w, const std::string& name, const std::vector<std::string>& sets) {
  const auto command = [&](const std::string& epochs) {
    std::vector<std::string> arguments{"run", name + ".toml", "--set", epochs};
    for (const auto& set : sets) arguments.insert(arguments.end(), {"--set", set});
    return arguments;
  };
  const auto process = w.start(command("epochs=100000"));
  const RunFolder killed = w.running(*process, name, 30);
  process->signal(SIGKILL);
  REQUIRE(wait_until([&] { return process->all_gone(); }));
  const std::int64_t steps_an_epoch = killed.events("epoch").at(0).at("step");
  const std::string epochs = "epochs=" + std::to_string(killed.last_step() / steps_an_epoch + 2);
  const Outcome resumed = w.run({"resume", name, "--set", epochs});
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  std::vector<std::string> again = command(epochs);
  again.insert(again.end(), {"--name", "whole"});
  const Outcome whole = w.run(again);
  REQUIRE(whole.code == 0);
  return {.killed = killed, .whole = whole.run};
}

}  // namespace ddp::system_test
