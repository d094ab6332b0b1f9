#include "config/option/option.h"

#include "base/error.h"

namespace ddp::config {
namespace {

// Collects the options of a struct; the current values become the defaults.
class Describer : public Fields {
 public:
  std::vector<Option> take() { return std::move(open_.front()); }

  void operator()(Option option, bool& field) override { add(option, {Type::boolean}, field); }
  void operator()(Option option, std::int64_t& field) override { add(option, {Type::integer}, field); }
  void operator()(Option option, double& field) override { add(option, {Type::number}, field); }
  void operator()(Option option, std::string& field) override { add(option, {Type::text}, field); }
  void operator()(Option option, std::vector<std::int64_t>& field) override {
    option.item = Type::integer;
    add(option, {Type::list}, field);
  }
  void operator()(Option option, std::vector<double>& field) override {
    option.item = Type::number;
    add(option, {Type::list}, field);
  }
  void operator()(Option option, std::vector<std::string>& field) override {
    option.item = Type::text;
    add(option, {Type::list}, field);
  }
  void operator()(Option option, std::optional<bool>& field) override {
    add(option, {Type::boolean}, field ? Value(*field) : Value());
  }
  void operator()(Option option, std::optional<std::int64_t>& field) override {
    add(option, {Type::integer}, field ? Value(*field) : Value());
  }
  void operator()(Option option, std::optional<double>& field) override {
    add(option, {Type::number}, field ? Value(*field) : Value());
  }
  void operator()(Option option, Value& field) override {
    const std::vector<Type> types = option.types;
    add(option, types, field);
  }
  void operator()(Option option, Component& field) override {
    add(option, {Type::text, Type::table}, field.name.empty() ? Value() : Value(field.name));
  }

 protected:
  void enter(Option option) override {
    option.types = {Type::table};
    open_.back().push_back(std::move(option));
    open_.emplace_back();
  }
  void leave() override {
    std::vector<Option> keys = std::move(open_.back());
    open_.pop_back();
    open_.back().back().section = std::move(keys);
  }

 private:
  void add(Option& option, std::vector<Type> types, Value default_value) {
    option.types = std::move(types);
    if (!option.required) option.default_value = std::move(default_value);
    open_.back().push_back(std::move(option));
  }

  std::vector<std::vector<Option>> open_ = {{}};
};

// Stores the values of a table in the fields of a struct.
class Reader : public Fields {
 public:
  explicit Reader(const Value& table) : open_{&table} {}

  void operator()(Option option, bool& field) override { take(option, field, &Value::is_boolean); }
  void operator()(Option option, std::int64_t& field) override { take(option, field, &Value::is_number_integer); }
  void operator()(Option option, double& field) override { take(option, field, &Value::is_number); }
  void operator()(Option option, std::string& field) override { take(option, field, &Value::is_string); }
  void operator()(Option option, std::vector<std::int64_t>& field) override {
    take_list(option, field, &Value::is_number_integer);
  }
  void operator()(Option option, std::vector<double>& field) override { take_list(option, field, &Value::is_number); }
  void operator()(Option option, std::vector<std::string>& field) override {
    take_list(option, field, &Value::is_string);
  }
  void operator()(Option option, std::optional<bool>& field) override {
    bool value = false;
    if (take(option, value, &Value::is_boolean)) field = value;
  }
  void operator()(Option option, std::optional<std::int64_t>& field) override {
    std::int64_t value = 0;
    if (take(option, value, &Value::is_number_integer)) field = value;
  }
  void operator()(Option option, std::optional<double>& field) override {
    double value = 0;
    if (take(option, value, &Value::is_number)) field = value;
  }
  void operator()(Option option, Value& field) override {
    if (const Value* value = find(option.name)) field = *value;
  }
  void operator()(Option option, Component& field) override {
    const Value* value = find(option.name);
    if (!value) return;
    if (value->is_string()) {
      field = {.name = value->get<std::string>()};
      return;
    }
    if (!value->is_object()) misfit(option.name);
    field.options = *value;
    if (field.options.contains("name")) {
      field.name = field.options["name"].get<std::string>();
      field.options.erase("name");
    }
  }

 protected:
  void enter(Option option) override {
    static const Value empty = Value::object();
    const Value* section = find(option.name);
    if (section && !section->is_object()) misfit(option.name);
    open_.push_back(section ? section : &empty);
  }
  void leave() override { open_.pop_back(); }

 private:
  using Test = bool (Value::*)() const noexcept;

  const Value* find(const std::string& name) const {
    const auto it = open_.back()->find(name);
    return it == open_.back()->end() || it->is_null() ? nullptr : &*it;
  }

  template <class T>
  bool take(const Option& option, T& field, Test fits) const {
    const Value* value = find(option.name);
    if (!value) return false;
    if (!(value->*fits)()) misfit(option.name);
    field = value->get<T>();
    return true;
  }

  template <class T>
  void take_list(const Option& option, std::vector<T>& field, Test fits) const {
    const Value* value = find(option.name);
    if (!value) return;
    if (!value->is_array()) misfit(option.name);
    for (const Value& item : *value) {
      if (!(item.*fits)()) misfit(option.name);
    }
    field = value->get<std::vector<T>>();
  }

  [[noreturn]] static void misfit(const std::string& name) {
    throw usage_error("the value of \"" + name + "\" has the wrong type");
  }

  std::vector<const Value*> open_;
};

// Writes the fields of a struct to a table.
class Writer : public Fields {
 public:
  Value take() { return std::move(open_.front()); }

  void operator()(Option option, bool& field) override { put(option, field); }
  void operator()(Option option, std::int64_t& field) override { put(option, field); }
  void operator()(Option option, double& field) override { put(option, field); }
  void operator()(Option option, std::string& field) override { put(option, field); }
  void operator()(Option option, std::vector<std::int64_t>& field) override { put(option, field); }
  void operator()(Option option, std::vector<double>& field) override { put(option, field); }
  void operator()(Option option, std::vector<std::string>& field) override { put(option, field); }
  void operator()(Option option, std::optional<bool>& field) override {
    if (field) put(option, *field);
  }
  void operator()(Option option, std::optional<std::int64_t>& field) override {
    if (field) put(option, *field);
  }
  void operator()(Option option, std::optional<double>& field) override {
    if (field) put(option, *field);
  }
  void operator()(Option option, Value& field) override {
    if (!field.is_null()) put(option, field);
  }
  void operator()(Option option, Component& field) override {
    if (field.name.empty()) return;
    Value table = Value::object();
    table["name"] = field.name;
    for (const auto& [key, value] : field.options.items()) table[key] = value;
    put(option, std::move(table));
  }

 protected:
  void enter(Option option) override {
    names_.push_back(option.name);
    open_.push_back(Value::object());
  }
  void leave() override {
    Value section = std::move(open_.back());
    open_.pop_back();
    // Leaves out an empty section: an empty [ema] would turn the average on.
    if (!section.empty()) open_.back()[names_.back()] = std::move(section);
    names_.pop_back();
  }

 private:
  void put(const Option& option, Value value) { open_.back()[option.name] = std::move(value); }

  std::vector<Value> open_ = {Value::object()};
  std::vector<std::string> names_;
};

}  // namespace

std::vector<Option> describe(void (*visit)(void*, Fields&), void* section) {
  Describer describer;
  visit(section, describer);
  return describer.take();
}

void read(const Value& table, void (*visit)(void*, Fields&), void* section) {
  Reader reader(table);
  visit(section, reader);
}

Value write(void (*visit)(void*, Fields&), void* section) {
  Writer writer;
  visit(section, writer);
  return writer.take();
}

}  // namespace ddp::config
