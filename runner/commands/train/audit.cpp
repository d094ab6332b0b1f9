#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "commands/commands.h"
#include "commands/options.h"
#include "runs/audit.h"

namespace ddp::commands {
namespace {

struct AuditOptions {
  std::string run;
  runs::AuditRequest request{.run = record::RunDirectory("")};
  bool json = false;
};

using Action = runs::Audited(const runs::AuditRequest&);

// Returns the exit code: 0 same bits, 1 other bits, 128 + n stopped by signal n.
template <Action action>
int conclude(AuditOptions& o) {
  o.request.run = record::RunDirectory::find(o.request.results, o.run);
  o.request.run.require_run();
  if (!o.json) {
    o.request.tell = [](const std::string& line) { std::cout << line << std::endl; };
    o.request.show = print_folder_of;
  }
  const runs::Audited done = action(o.request);
  if (done.stopped != 0) return done.stopped;
  if (o.json) std::cout << config::written(done.audit).dump(2) << "\n";
  return done.audit.same ? 0 : 1;
}

template <Action action>
void add(CLI::App& verb, AuditOptions& o) {
  completes(verb.add_option("RUN", o.run, kRunInWords)->required(), completion::runs);
  if (action == runs::audit) {  // UBSan takes away that this is a constant
    verb.add_option("--stretches", o.request.stretches, "number of parts to train again; default: all")
        ->check(CLI::Range(1, 1'000'000));
  } else {
    add_run_id(verb, o.request.run_id, "id of the new run; an existing one is continued");
  }
  verb.add_option("--device-pool", o.request.device_pool, "other devices: 1, 4, [0, 1] or [\"cpu\", \"cpu\"]");
  add_results(verb, o.request.results);
  verb.add_flag("--json", o.json, "print JSON");
}

const bool audit_registered =
    register_verb(102, "audit", "train parts of a run again, and compare all bits", add<runs::audit>,
                  conclude<runs::audit>, {.examples = {"audit basic", "audit basic --stretches 3 --json"}}) &&
    register_verb(104, "reproduce", "train a whole run again from its folder, and compare all bits",
                  add<runs::reproduce>, conclude<runs::reproduce>,
                  {.examples = {"reproduce basic", "reproduce basic --device-pool 1"}}) &&
    register_schema<runs::Audit>("audit", "audit RUN --json, audit.json") &&
    register_schema<runs::Audit>("reproduce", "reproduce RUN --json, audit.json of the new run");

}  // namespace
}  // namespace ddp::commands
