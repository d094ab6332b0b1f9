#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/option/fields.h"

namespace ddp::config {

// A line of a source file. clang 14, which builds the fuzz targets, lacks std::source_location.
struct SourceLine {
  const char* file = "";
  int line = 0;
};

// Ends the process with exit code 2 and a message that names both files. It does not throw: components register while
// libraries load, where no code can catch an exception.
[[noreturn]] void refuse_second_registration(const std::string& kind, const std::string& name, const SourceLine& first,
                                             const SourceLine& second);

// The options of a component that has none.
struct NoOptions {
  void fields(Fields&) {}
};

// Makes an object of a class, for Registry::add: from the options and the context, or from the context if the class has
// no options, or from the options alone, or from nothing.
template <class Class>
inline constexpr auto made = [](const auto& options, const auto&... context) {
  if constexpr (std::is_constructible_v<Class, decltype(options), decltype(context)...>) {
    return std::make_unique<Class>(options, context...);
  } else if constexpr (sizeof...(context) > 0 && std::is_constructible_v<Class, decltype(context)...>) {
    return std::make_unique<Class>(context...);
  } else if constexpr (std::is_constructible_v<Class, decltype(options)>) {
    return std::make_unique<Class>(options);
  } else {
    return std::make_unique<Class>();
  }
};

// The registered components of one kind. A model's file holds
//
//   const bool toy_registered = registry().add<ToyOptions>("toy", "what it is", [](const ToyOptions& o, …) {…});
//
// and no other file mentions the model. Product is the type that a component builds from its options and the context. A
// name that two files register ends the process at load.
template <class Product, class... Context>
class Registry {
 public:
  using Build = std::function<Product(const Value& options, Context...)>;

  // `shared`: options that every component has beside its own, and that its builder does not read.
  explicit Registry(std::string kind, std::vector<Option> shared = {})
      : kind_(std::move(kind)), shared_(std::move(shared)) {}

  // Options is a struct with defaults and `void fields(Fields&)`. Returns true. A duplicate name ends the process.
  template <class Options, class Make>
  bool add(const std::string& name, const std::string& doc, Make make, Value traits = Value::object(),
           const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    // Described on request, not now: options may depend on other components, which may not have registered yet.
    auto spec = [name, doc, traits] {
      return Spec{.name = name, .doc = doc, .options = describe<Options>(), .traits = traits};
    };
    Build build = [make](const Value& options, Context... context) {
      return make(read<Options>(options), std::forward<Context>(context)...);
    };
    const SourceLine where{.file = file, .line = line};
    Entry made{.spec = std::move(spec), .traits = std::move(traits), .build = std::move(build), .where = where};
    const auto [entry, is_new] = entries_.emplace(name, std::move(made));
    if (!is_new) refuse_second_registration(kind_, name, entry->second.where, where);
    return true;
  }

  // Throws ddp::Error (usage) if the component does not exist.
  Product build(const std::string& name, const Value& options, Context... context) const {
    return entry(name).build(options, std::forward<Context>(context)...);
  }

  // The traits that a component registered with. Throws ddp::Error (usage) if the component does not exist.
  const Value& traits(const std::string& name) const { return entry(name).traits; }

  const std::string& kind() const { return kind_; }
  bool contains(const std::string& name) const { return entries_.contains(name); }

  // The names of all components, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& [name, entry] : entries_) list.push_back(name);
    return list;
  }

  std::vector<Spec> specs() const {
    std::vector<Spec> list;
    for (const auto& [name, entry] : entries_) {
      list.push_back(entry.spec());
      list.back().options.insert(list.back().options.end(), shared_.begin(), shared_.end());
    }
    return list;
  }

 private:
  struct Entry {
    std::function<Spec()> spec;
    Value traits;
    Build build;
    SourceLine where;
  };

  const Entry& entry(const std::string& name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) throw usage_error("there is no " + kind_ + " \"" + name + "\"");
    return found->second;
  }

  std::string kind_;
  std::map<std::string, Entry> entries_;
  std::vector<Option> shared_;
};

}  // namespace ddp::config
