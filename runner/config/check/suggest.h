#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/components.h"
#include "config/option/fields.h"

namespace ddp::config {

// A name that can be typed: of a key, a component, a command or an option of a command.
struct Named {
  std::string name = {};
  std::vector<std::string> aliases = {};  // names of the same thing in other programs
  std::string path = {};                  // what a remedy shows; empty: the name
};

// Returns the path of the name or alias that was typed, in any case and with "-", "_" or neither. "": there is none.
std::string same_name(const std::string& typed, const std::vector<Named>& known);

// The same, or else the path of the nearest name or alias. "": none is near. This is the one answer to a wrong name.
std::string nearest_name(const std::string& typed, const std::vector<Named>& known);

// Returns `did you mean "optimizer.lr"?`, or `options: lr, momentum` if no name is near; `what` is the label of the
// list.
std::string remedy_of_name(const std::string& typed, const std::vector<Named>& known, const std::string& what);

std::vector<Named> named(const std::vector<Option>& options);
std::vector<Named> named(const std::vector<Spec>& specs);  // aliases are in the trait "aliases"
std::vector<Named> named(const std::map<std::string, Spec>& specs);

// The keys of an experiment file by their paths: "epochs", "optimizer.lr". A component's section has the options of all
// components of its kind.
std::vector<Named> keys_of(const std::vector<Option>& options, const Components& components);

// The nearest of names that have no aliases, such as columns and runs. Ignores case.
std::string nearest(const std::string& name, const std::vector<std::string>& candidates);

// Returns the existing file that a missing one probably means: one of its folders, or its own name, is mistyped. "":
// none is near.
std::string file_like(const std::filesystem::path& missing);

// Returns `did you mean "optimizer.lr"?`; "" for no name.
std::string did_you_mean(const std::string& name);

// The same in the form of remedy_of_name().
std::string suggestion(const std::string& name, const std::vector<std::string>& candidates, const std::string& what);

}  // namespace ddp::config
