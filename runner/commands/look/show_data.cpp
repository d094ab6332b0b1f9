#include "commands/look/show_data.h"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "config/text/source.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::commands {
namespace {

using config::Value;

constexpr std::size_t kLinesListed = 12;
constexpr std::size_t kValuesInLine = 8;
constexpr std::size_t kLabelWidth = 13;  // including the space behind it, as in the lines of a plan

// Names come from untrusted files.
std::string shown_text(const Value& text) { return config::printable(text.get<std::string>()); }

std::string shown_number(const Value& number) {
  if (number.is_null()) return "none";
  return number.is_number_float() ? report::in_words(number.get<double>()) : number.dump();
}

std::string shown_shape(const Value& shape) {
  std::string text;
  for (const Value& extent : shape) text += (text.empty() ? "" : ", ") + extent.dump();
  return "[" + text + "]";
}

// Prints a table behind a label, and the number of rows that are left out.
void print_labelled(const std::string& label, const report::Table& table, std::size_t left_out, std::ostream& out,
                    const report::Terminal& terminal) {
  if (table.empty()) return;
  const std::string indent(kLabelWidth, ' ');
  std::ostringstream lines;
  table.print(lines, terminal, indent);
  out << label << indent.substr(label.size()) << lines.str().substr(kLabelWidth);
  if (left_out > 0) out << indent << "and " << left_out << " more\n";
}

report::Table table_of_sets(const Value& data) {
  report::Table table({{.header = "set"}, {.header = "samples", .right = true}, {.header = "tokens", .right = true}});
  for (const Value& set : data.at("sets")) {
    table.row({set.at("set").get<std::string>(), set.at("samples").is_null() ? "endless" : set.at("samples").dump(),
               set.contains("tokens") ? set.at("tokens").dump() : ""});
  }
  return table;
}

void print_classes(const Value& data, std::ostream& out, const report::Terminal& terminal) {
  if (!data.contains("classes")) return;
  const Value& names = data.at("classes").at("names");
  std::vector<report::Column> columns{{.header = "class"}};
  for (const Value& set : data.at("sets")) {
    columns.push_back({.header = set.at("set").get<std::string>(), .right = true});
  }
  report::Table table(std::move(columns));
  const std::size_t listed = std::min(names.size(), kLinesListed);
  for (std::size_t i = 0; i < listed; ++i) {
    std::vector<std::string> cells{shown_text(names[i])};
    for (const Value& set : data.at("sets")) cells.push_back(set.at("class_counts")[i].dump());
    table.row(std::move(cells));
  }
  print_labelled("classes", table, data.at("classes").at("count").get<std::size_t>() - listed, out, terminal);
}

// "3: blue, green, red"
std::string values_of(const Value& column) {
  if (!column.contains("values")) return "";
  std::string text = column.at("value_count").dump() + ":";
  const Value& values = column.at("values");
  for (std::size_t i = 0; i < std::min(values.size(), kValuesInLine); ++i) {
    text += (i > 0 ? ", " : " ") + shown_text(values[i]);
  }
  return column.at("value_count") > kValuesInLine ? text + ", …" : text;
}

// Targets follow the features; they are shown even if the list of features is cut.
void print_columns(const Value& data, std::ostream& out, const report::Terminal& terminal) {
  if (!data.contains("columns")) return;
  report::Table table({{.header = "column"}, {.header = "role"}, {.header = "type"}, {.header = "values"}});
  std::size_t listed = 0;
  for (const char* role : {"target", "feature"}) {
    for (const Value& column : data.at("columns")) {
      if (column.at("role") != role || listed >= kLinesListed) continue;
      table.row({shown_text(column.at("name")), role, column.at("type").get<std::string>(), values_of(column)});
      ++listed;
    }
  }
  print_labelled("columns", table, data.at("columns").size() - listed, out, terminal);
}

void print_arrays(const Value& data, std::ostream& out, const report::Terminal& terminal) {
  if (!data.contains("arrays")) return;
  report::Table table({{.header = "array"}, {.header = "role"}, {.header = "stored as"}, {.header = "shape"}});
  for (const Value& one : data.at("arrays")) {
    table.row({shown_text(one.at("name")), one.at("role").get<std::string>(), one.at("dtype").get<std::string>(),
               shown_shape(one.at("shape"))});
  }
  print_labelled("arrays", table, 0, out, terminal);
}

void print_text(const Value& data, std::ostream& out) {
  if (!data.contains("block_size")) return;
  out << "text         samples of " << data.at("block_size").dump() << " tokens";
  if (data.contains("tokenizer")) {
    out << ", tokenizer \"" << shown_text(data.at("tokenizer")) << "\" with " << data.at("vocab_size").dump()
        << " tokens";
  }
  out << "\n";
}

std::vector<Value> tensors_of(const Value& batch) {
  std::vector<Value> tensors;
  for (const char* role : {"input", "target"}) {
    for (Value one : batch.at(std::string(role) + "s")) {
      one["role"] = role;
      tensors.push_back(std::move(one));
    }
  }
  return tensors;
}

void print_first_batch(const Value& data, std::ostream& out, const report::Terminal& terminal) {
  const std::vector<Value> tensors = tensors_of(data.at("first_batch"));
  const bool all_finite =
      std::all_of(tensors.begin(), tensors.end(), [](const Value& one) { return one.at("not_finite") == 0; });
  std::vector<report::Column> columns{{.header = "tensor"},
                                      {.header = "role"},
                                      {.header = "type"},
                                      {.header = "shape"},
                                      {.header = "least", .right = true},
                                      {.header = "greatest", .right = true}};
  if (!all_finite) columns.push_back({.header = "inf or nan", .right = true});
  report::Table table(std::move(columns));
  for (const Value& one : tensors) {
    std::vector<std::string> cells{shown_text(one.at("name")),         one.at("role").get<std::string>(),
                                   one.at("dtype").get<std::string>(), shown_shape(one.at("shape")),
                                   shown_number(one.at("least")),      shown_number(one.at("greatest"))};
    if (!all_finite) cells.push_back(one.at("not_finite").dump());
    table.row(std::move(cells));
  }
  print_labelled("first batch", table, 0, out, terminal);
}

}  // namespace

void show_data(const Value& data, std::ostream& out, const report::Terminal& terminal) {
  print_labelled("data", table_of_sets(data), 0, out, terminal);
  print_classes(data, out, terminal);
  print_columns(data, out, terminal);
  print_arrays(data, out, terminal);
  print_text(data, out);
  print_first_batch(data, out, terminal);
}

}  // namespace ddp::commands
