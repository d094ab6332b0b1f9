#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/embedded.h"
#include "base/error.h"
#include "commands/commands.h"
#include "config/check/phrases.h"
#include "config/load.h"
#include "config/text/source.h"

namespace ddp::commands {

extern const std::span<const EmbeddedFile> kSchemas;  // from runner/commands/schemas: <what>.json and definitions.json

namespace {

using config::Value;

const std::string kExperiment = "experiment";

Value embedded(const std::string& name) {
  const auto file =
      std::find_if(kSchemas.begin(), kSchemas.end(), [&](const auto& f) { return f.name == name + ".json"; });
  return Value::parse(file->text);
}

// Adds the definitions to which `part` refers, directly or indirectly.
void add_definitions(Value& schema, const Value& all, const Value& part) {
  static const std::string kPlace = "#/$defs/";
  for (const auto& [key, value] : part.items()) {
    if (key != "$ref") {
      if (value.is_structured()) add_definitions(schema, all, value);
      continue;
    }
    const std::string name = value.get<std::string>().substr(kPlace.size());
    if (schema["$defs"].contains(name)) continue;
    schema["$defs"][name] = all.at(name);
    add_definitions(schema, all, all.at(name));
  }
}

// Returns the schema of an output of this program.
Value output_schema(const std::string& what) {
  Value schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
  const Value written = embedded(what);
  schema.update(written);
  add_definitions(schema, embedded("definitions").at("$defs"), written);
  return schema;
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names = {kExperiment};
  for (const EmbeddedFile& file : kSchemas) {
    if (file.name != "definitions.json") names.emplace_back(file.name.substr(0, file.name.rfind('.')));
  }
  return names;
}

namespace {

void add_schema(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("schema", "print the JSON Schema of experiment files, or of an output");
  auto what = std::make_shared<std::string>(kExperiment);
  std::string names;
  for (const std::string& name : schema_names()) names += (names.empty() ? "" : ", ") + name;
  verb->add_option("WHAT", *what, names)->capture_default_str();
  verb->callback([what, &exit_code] {
    const auto known = schema_names();
    if (std::find(known.begin(), known.end(), *what) == known.end()) {
      throw usage_error("unknown schema " + config::in_quotes(*what), "",
                        config::suggestion(std::filesystem::path(*what).stem(), known, "schemas"));
    }
    const Value schema = *what == kExperiment ? config::schema(config::Components::installed()) : output_schema(*what);
    std::cout << schema.dump(2) << "\n";
    exit_code = 0;
  });
}

const bool schema_registered = register_verb(130, add_schema);

}  // namespace

}  // namespace ddp::commands
