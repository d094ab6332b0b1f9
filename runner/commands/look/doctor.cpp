#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands/commands.h"
#include "commands/look/diagnosis.h"
#include "commands/look/machine.h"
#include "commands/options.h"
#include "report/text/words.h"

namespace ddp::commands {
namespace {

// The printed JSON object.
struct DoctorOutput {
  bool broken = false;
  std::vector<Finding> findings = {};

  void fields(config::Fields& f) {
    f.version();
    f({"broken", "a finding is broken"}, broken);
    f({"findings"}, findings);
  }
};

struct DoctorOptions {
  std::string results = "results";
  bool json = false;
};

int doctor(const DoctorOptions& o) {
  const std::vector<Finding> findings = judge(measure_machine(o.results));
  const bool broken = any_broken(findings);
  if (o.json) {
    report::print_json(config::written(DoctorOutput{.broken = broken, .findings = findings}), std::cout);
  } else {
    print_findings(findings, std::cout, report::terminal_of_stdout());
  }
  return broken ? 1 : 0;
}

void add_doctor(CLI::App& verb, DoctorOptions& o) {
  add_results(verb, o.results, "results folder, which must be writable");
  verb.add_flag("--json", o.json, "print JSON");
}

const bool doctor_registered =
    register_verb(165, "doctor", "show what this machine can do, and what keeps training from starting", add_doctor,
                  doctor,
                  {.examples = {"doctor", "doctor --results /data/results"}, .aliases = {"diagnose", "info", "env"}}) &&
    register_schema<DoctorOutput>("doctor", "doctor --json");

}  // namespace

}  // namespace ddp::commands
