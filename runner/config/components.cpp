#include "config/components.h"

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "base/installation.h"
#include "base/log.h"
#include "config/option/fields.h"
#include "config/registry.h"

namespace ddp::config {
namespace {

constexpr int kVersion = 1;

// "models/mlp.cpp:12". The path of the checkout is left out: it means nothing on another machine.
std::string file_and_line(const SourceLine& where) {
  const std::filesystem::path file = where.file;
  return (file.parent_path().filename() / file.filename()).string() + ":" + std::to_string(where.line);
}

}  // namespace

void Components::add(const std::string& kind, Spec spec) {
  const std::string name = spec.name;
  if (!own()[kind].emplace(name, std::move(spec)).second) {
    throw usage_error("two components have the name " + kind + " \"" + name + "\"");
  }
}

void Components::add(Plugin plugin, const Components& known) {
  for (const auto& [kind, specs] : *known.by_kind_) own()[kind] = specs;
  plugin_ = std::move(plugin);
}

Components::ByKind& Components::own() {
  if (by_kind_.use_count() > 1) by_kind_ = std::make_shared<ByKind>(*by_kind_);
  return *by_kind_;
}

const Spec* Components::find(const std::string& kind, const std::string& name) const {
  const std::map<std::string, Spec>& specs = of(kind);
  const auto it = specs.find(name);
  return it == specs.end() ? nullptr : &it->second;
}

const std::map<std::string, Spec>& Components::of(const std::string& kind) const {
  static const std::map<std::string, Spec> none;
  const auto it = by_kind_->find(kind);
  return it == by_kind_->end() ? none : it->second;
}

Value Components::to_json() const {
  Value json = Value::object();
  json["version"] = kVersion;
  for (const auto& [kind, specs] : *by_kind_) {
    json[kind] = Value::array();
    for (const auto& [name, spec] : specs) json[kind].push_back(written(spec));
  }
  return json;
}

Components Components::from_json(const Value& json) {
  if (json.value("version", 0) != kVersion) {
    throw usage_error("components.json and this program have different versions");
  }
  Components components;
  for (const auto& [kind, specs] : json.items()) {
    if (kind == "version") continue;
    for (const Value& spec : specs) components.add(kind, read_written<Spec>(spec));
  }
  return components;
}

Components Components::installed() {
  const std::filesystem::path file = program_folder() / "components.json";
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw usage_error("cannot read the file", file.string(), how_to_mend());
  try {
    return from_json(Value::parse(stream));
  } catch (const Value::exception&) {
    throw usage_error("is damaged", file.string(), how_to_mend());
  } catch (const Error& error) {
    throw usage_error(error.summary(), file.string(), how_to_mend());
  }
}

void refuse_second_registration(const std::string& kind, const std::string& name, const SourceLine& first,
                                const SourceLine& second) {
  log::error("two files register the " + kind + " \"" + name + "\": " + file_and_line(first) + " and " +
             file_and_line(second) + "\n  give one of them another name");
  _exit(2);
}

}  // namespace ddp::config
