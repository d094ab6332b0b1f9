#include "graph/program.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include <ATen/autocast_mode.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "format/array.h"
#include "graph/archive.h"

namespace ddp::graph {
namespace {

using config::member;
using config::text_member;
using nlohmann::json;

constexpr std::int64_t kSchema = 8;  // the supported major version of the format
// The limit of nested modules in a weight's name: each one takes stack, and a copy of all names around it.
constexpr std::ptrdiff_t kMostParts = 100;

// Returns "s77" for "Symbol('s77', positive=True, integer=True)"; "" for other expressions.
std::string symbol_in(const std::string& expression) {
  constexpr std::string_view kBegin = "Symbol('";
  if (!expression.starts_with(kBegin)) return "";
  const std::size_t end = expression.find('\'', kBegin.size());
  // Facts about the symbol follow its name, up to the closing parenthesis.
  if (end == std::string::npos || expression.find(')', end) + 1 != expression.size()) return "";
  return expression.substr(kBegin.size(), end - kBegin.size());
}

class ProgramReader {
 public:
  ProgramReader(const std::filesystem::path& file, const std::string& name, bool may_lack_weights)
      : archive_(file), name_(name), model_(archive_.json(member_of_graph(name))) {
    program_.file = file.string();
    if (may_lack_weights || !archive_.has(kLacking)) return;
    throw usage_error("is a run's copy of a model's graph, without its weights", program_.file,
                      "name the file that the run was started with; resume, fork and eval add a checkpoint's weights");
  }

  Program read() {
    const json& version = member(model_, "schema_version");
    if (config::count_member(version, "major") != kSchema) {
      throw std::runtime_error("it was written by an unsupported version of PyTorch, with format " + version.dump());
    }
    const json& module = member(model_, "graph_module");
    tensors_ = &member(member(module, "graph"), "tensor_values");
    weights_ = read_weights(archive_, name_).tensors;
    const std::string constants = "data/constants/" + name_ + "_constants_config.json";
    if (archive_.has(constants)) constants_ = member(archive_.json(constants), "config");
    for (const json& input : list(member(member(module, "signature"), "input_specs"))) add_input(input);
    name_inputs(module);
    if (name_ == kModel && archive_.has(kFacts)) add_facts(archive_.json(kFacts));
    program_.draws_weights = archive_.has(member_of_graph(kInit));
    add_outputs(module);
    program_.graph = std::move(model_["graph_module"]["graph"]);
    return std::move(program_);
  }

 private:
  static const json& list(const json& value) {
    if (!value.is_array()) throw std::runtime_error("a list is missing");
    return value;
  }

  void add_input(const json& spec) {
    if (!spec.is_object() || spec.size() != 1) throw std::runtime_error("an input is damaged");
    const std::string kind = spec.begin().key();
    const json& of = spec.begin().value();
    if (kind == "parameter") {
      bind(of, text_member(of, "parameter_name"), Program::Bound::Role::parameter);
    } else if (kind == "buffer") {
      const bool kept = member(of, "persistent") == json(true);
      bind(of, text_member(of, "buffer_name"), kept ? Program::Bound::Role::buffer : Program::Bound::Role::constant);
    } else if (kind == "tensor_constant") {
      bind(of, text_member(of, "tensor_constant_name"), Program::Bound::Role::constant);
    } else if (kind == "user_input") {
      add_user_input(member(of, "arg"));
    } else if (kind != "constant_input") {
      throw std::runtime_error("it has an input of the kind " + config::in_quotes(kind) +
                               ", which archives do not support");
    }
  }

  void bind(const json& spec, const std::string& name, Program::Bound::Role role) {
    const auto found = weights_.find(name);
    if (found == weights_.end()) throw std::runtime_error("the weight " + config::in_quotes(name) + " is missing");
    if (role == Program::Bound::Role::constant && !constants_.contains(name)) {
      throw std::runtime_error("the constant " + config::in_quotes(name) + " is among the weights");
    }
    if (std::count(name.begin(), name.end(), '.') >= kMostParts) {
      throw std::runtime_error("the name of a weight has more than " + std::to_string(kMostParts) + " parts");
    }
    program_.bound.push_back(
        {.value = text_member(member(spec, "arg"), "name"), .name = name, .role = role, .tensor = found->second});
  }

  void add_user_input(const json& argument) {
    if (!argument.contains("as_tensor")) {
      throw std::runtime_error(
          "forward takes an argument that is not a tensor; export a module whose forward takes only "
          "tensors");
    }
    Program::Input input{.value = text_member(member(argument, "as_tensor"), "name")};
    const json& meta = member(*tensors_, input.value);
    input.type = scalar_type(config::count_member(meta, "dtype"));
    for (const json& size : list(member(meta, "sizes"))) input.sizes.push_back(extent_of(size));
    program_.inputs.push_back(std::move(input));
  }

  Program::Extent extent_of(const json& size) const {
    if (size.contains("as_int")) return {.size = config::count_member(size, "as_int")};
    Program::Extent extent{.symbol = symbol_in(text_member(member(size, "as_expr"), "expr_str"))};
    if (extent.symbol.empty()) extent.symbol = "?";
    const json& ranges = member(model_, "range_constraints");
    if (const auto range = ranges.find(extent.symbol); range != ranges.end()) {
      const auto bound = [&](const char* key, std::int64_t otherwise) {
        return range->contains(key) && range->at(key).is_number_unsigned() ? config::count_member(*range, key)
                                                                           : otherwise;
      };
      extent.least = bound("min_val", 0);
      extent.most = bound("max_val", INT64_MAX);
    }
    return extent;
  }

  // The description of forward's call in Python. Archives of older versions lack it.
  static json call_of(const json& module, const char* key) {
    const auto calls = module.find("module_call_graph");
    if (calls == module.end() || !calls->is_array() || calls->empty()) return nullptr;
    const json& first = calls->front();
    if (!first.contains("signature") || !first.at("signature").is_object()) return nullptr;
    const json& signature = first.at("signature");
    return signature.contains(key) ? signature.at(key) : json(nullptr);
  }

  void name_inputs(const json& module) {
    const json names = call_of(module, "forward_arg_names");
    if (!names.is_array() || names.size() != program_.inputs.size()) return;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].is_string()) program_.inputs[i].name = names[i].get<std::string>();
    }
  }

  void add_facts(const json& facts) {
    if (!facts.is_object()) throw std::runtime_error(std::string(kFacts) + " is not an object");
    program_.answers_next = facts.value("answers_next", false);
    program_.compares_samples = facts.value("compares_samples", false);
    program_.skips_empty = facts.value("skips_empty", false);
    program_.fixed_weights = facts.value("fixed_weights", "");
    const json arguments = facts.value("arguments", json::array());
    if (!arguments.is_array() || arguments.size() > program_.inputs.size()) {
      throw std::runtime_error(std::string(kFacts) + " describes other arguments");
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      program_.inputs[i].name = text_member(arguments[i], "name");
      program_.inputs[i].values = config::count_member(arguments[i], "values");
    }
  }

  void add_outputs(const json& module) {
    const json& specs = list(member(member(module, "signature"), "output_specs"));
    const std::vector<std::string> names = names_of_outputs(module, specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (!specs[i].contains("user_output")) {
        throw std::runtime_error("its graph is not a graph that torch.export.export returns");
      }
      const json& argument = member(specs[i].at("user_output"), "arg");
      if (!argument.contains("as_tensor")) continue;
      const std::string value = text_member(argument.at("as_tensor"), "name");
      const auto meta = tensors_->find(value);
      const bool is_scalar = meta != tensors_->end() && list(member(*meta, "sizes")).empty();
      program_.outputs.push_back({.value = value, .name = names[i], .is_scalar = is_scalar});
    }
    if (program_.outputs.empty()) throw std::runtime_error("forward returns no tensor");
  }

  // The names of the leaves of forward's result.
  static std::vector<std::string> names_of_outputs(const json& module, std::size_t outputs) {
    std::vector<std::string> names;
    const json text = call_of(module, "out_spec");
    const json spec = text.is_string() ? config::parse_json(text.get<std::string>()) : json(nullptr);
    if (spec.is_array() && spec.size() == 2 && spec[1].contains("context")) {
      const json& context = spec[1].at("context");
      const json keys = context.is_string() ? json::parse(context.get<std::string>(), nullptr, false) : json(nullptr);
      const json& children = list(member(spec[1], "children_spec"));
      for (std::size_t i = 0; keys.is_array() && keys.size() == children.size() && i < keys.size(); ++i) {
        if (!keys[i].is_string()) break;
        const std::size_t count = leaves(children[i]);
        for (std::size_t leaf = 0; leaf < count; ++leaf) {
          names.push_back(keys[i].get<std::string>() + (count == 1 ? "" : "." + std::to_string(leaf)));
        }
      }
    }
    if (names.size() == outputs) return names;
    names.clear();
    for (std::size_t i = 0; i < outputs; ++i) names.push_back(outputs == 1 ? "output" : std::to_string(i));
    return names;
  }

  static std::size_t leaves(const json& spec) {
    const json& children = list(member(spec, "children_spec"));
    if (children.empty()) return member(spec, "type").is_null() ? 1 : 0;
    std::size_t sum = 0;
    for (const json& child : children) sum += leaves(child);
    return sum;
  }

  const Archive archive_;
  const std::string name_;
  json model_;
  const json* tensors_ = nullptr;
  std::map<std::string, at::Tensor> weights_;
  json constants_ = json::object();
  Program program_;
};

}  // namespace

Program read_program(const std::filesystem::path& file, bool may_lack_weights) try {
  return ProgramReader(file, kModel, may_lack_weights).read();
} catch (...) {
  format::throw_refusal(file.string(), kExportAgain);
}

Program read_initialisation(const std::filesystem::path& file) try {
  return ProgramReader(file, kInit, /*may_lack_weights=*/false).read();
} catch (...) {
  format::throw_refusal(file.string(), kExportAgain);
}

std::vector<std::string> Program::output_names() const {
  std::vector<std::string> names;
  for (const Output& output : outputs) names.push_back(output.name);
  return names;
}

std::vector<std::string> Program::argument_names() const {
  std::vector<std::string> names;
  for (const Input& input : inputs) names.push_back(input.name);
  return names;
}

std::vector<std::int64_t> Program::argument_values() const {
  std::vector<std::int64_t> values;
  for (const Input& input : inputs) values.push_back(input.values);
  return values;
}

std::vector<std::string> Program::scalar_names() const {
  std::vector<std::string> names;
  for (const Output& output : outputs) {
    if (output.is_scalar) names.push_back(output.name);
  }
  return names;
}

namespace {

std::string text_of(const Program::Extent& extent) {
  if (extent.symbol.empty()) return std::to_string(extent.size);
  if (extent.most >= INT64_MAX / 2) return "any";
  return std::to_string(extent.least) + " to " + std::to_string(extent.most);
}

std::string text_of(const Program::Input& input) {
  std::string shape;
  for (const auto& extent : input.sizes) shape += (shape.empty() ? "" : ", ") + text_of(extent);
  return (input.name.empty() ? "" : " " + config::in_quotes(input.name)) + " of shape [" + shape + "] and type " +
         c10::toString(input.type);
}

}  // namespace

model::BatchSizes ShapeCheck::batch_sizes() const {
  model::BatchSizes sizes;
  for (const Program::Input& input : inputs_) {
    if (input.sizes.empty()) continue;
    const Program::Extent& batch = input.sizes.front();
    sizes.least = std::max(sizes.least, batch.symbol.empty() ? batch.size : batch.least);
    sizes.most = std::min(sizes.most, batch.symbol.empty() ? batch.size : batch.most);
  }
  return sizes;
}

std::vector<at::Tensor> ShapeCheck::fitted(std::vector<at::Tensor> given) {
  if (given.size() != inputs_.size()) {
    throw usage_error(
        what_ + " takes " + std::to_string(inputs_.size()) + " inputs, but it gets " + std::to_string(given.size()),
        file_, "forward's arguments are, in this order, " + takes_);
  }
  symbols_.clear();
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (inputs_[i].type == at::kBool && given[i].scalar_type() == at::kLong) given[i] = given[i].to(at::kBool);
    if (fits(inputs_[i], given[i])) continue;
    throw usage_error(what_ + " was exported for an input" + text_of(inputs_[i]) + ", but it gets " +
                          c10::str(given[i].sizes()) + " of type " + c10::toString(given[i].scalar_type()),
                      file_);
  }
  return given;
}

std::vector<at::Tensor> ShapeCheck::completed(std::vector<at::Tensor> given) {
  symbols_.clear();
  for (std::size_t i = 0; i < given.size() && i < inputs_.size(); ++i) fits(inputs_[i], given[i]);
  while (!given.empty() && given.size() < inputs_.size()) {
    const Program::Input& input = inputs_[given.size()];
    std::vector<std::int64_t> sizes;
    for (const Program::Extent& extent : input.sizes) sizes.push_back(size_of(extent));
    given.push_back(at::zeros(sizes, given.front().options().dtype(input.type)));
  }
  return given;
}

std::optional<c10::ScalarType> ShapeCheck::type_at(std::size_t place) const {
  return place < inputs_.size() ? std::optional(inputs_[place].type) : std::nullopt;
}

// The size of an extent in the current batch.
std::int64_t ShapeCheck::size_of(const Program::Extent& extent) const {
  if (extent.symbol.empty()) return extent.size;
  for (const auto& [symbol, value] : symbols_) {
    if (*symbol == extent.symbol) return value;
  }
  return std::max<std::int64_t>(extent.least, 1);
}

bool ShapeCheck::fits(const Program::Input& input, const at::Tensor& given) {
  // Under autocast a model gives a loss outputs of 16 bits, as in Python.
  const bool is_cast = given.is_floating_point() && c10::isFloatingType(input.type) &&
                       at::autocast::is_autocast_enabled(given.device().type());
  if (given.scalar_type() != input.type && !is_cast) return false;
  if (given.dim() != static_cast<std::int64_t>(input.sizes.size())) return false;
  for (std::size_t d = 0; d < input.sizes.size(); ++d) {
    if (!fits_extent(input.sizes[d], given.size(static_cast<std::int64_t>(d)))) return false;
  }
  return true;
}

bool ShapeCheck::fits_extent(const Program::Extent& extent, std::int64_t size) {
  if (extent.symbol.empty()) return size == extent.size;
  if (size < extent.least || size > extent.most) return false;
  for (const auto& [symbol, value] : symbols_) {
    if (*symbol == extent.symbol) return extent.symbol == "?" || value == size;
  }
  symbols_.emplace_back(&extent.symbol, size);
  return true;
}

}  // namespace ddp::graph
