#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "commands/commands.h"
#include "completion/complete.h"
#include "config/check/suggest.h"
#include "config/load/load.h"
#include "config/option/fields.h"
#include "record/metrics/event_lines.h"
#include "record/summary.h"
#include "report/text/words.h"
#include "sweep/journal.h"
#include "sweep/trial_loop.h"

namespace ddp::commands {

namespace {

using config::Value;

const std::string kExperiment = "experiment";

// The schemas of outputs by name; no static object, since registrations run before main in any order.
std::map<std::string, std::function<Value()>>& schemas() {
  static std::map<std::string, std::function<Value()>> all;
  return all;
}

const bool files_registered = register_schema("metrics", record::metrics_schema) &&
                              register_schema("journal", sweep::journal_schema) &&
                              register_schema("sweep", sweep::summary_schema) &&
                              register_schema<record::Summary>("summary", "summary.json of a run");

}  // namespace

bool register_schema(const char* name, std::function<Value()> schema) {
  return schemas().emplace(name, std::move(schema)).second;
}

namespace {

// Returns the names that `schema` accepts.
std::vector<std::string> schema_names() {
  std::vector<std::string> names = {kExperiment};
  for (const auto& [name, schema] : schemas()) names.push_back(name);
  return names;
}

void print_schema(const std::string& what) {
  const auto known = schema_names();
  if (std::find(known.begin(), known.end(), what) == known.end()) {
    throw usage_error("unknown schema " + config::in_quotes(what), "",
                      config::suggestion(std::filesystem::path(what).stem(), known, "schemas"));
  }
  const Value schema = what == kExperiment ? config::schema(config::Components::installed()) : schemas().at(what)();
  report::print_json(schema, std::cout);
}

void add_schema(CLI::App& verb, std::string& what) {
  what = kExperiment;
  const auto names = schema_names();
  completion::completes(verb.add_option("WHAT", what, report::joined(names))->capture_default_str(),
                        completion::one_of(names));
}

const bool schema_registered =
    register_verb(130, "schema", "print the JSON Schema of experiment files, or of an output", add_schema, print_schema,
                  {.examples = {"schema", "schema summary"}});

}  // namespace

}  // namespace ddp::commands
