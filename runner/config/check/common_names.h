#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/text/node.h"

namespace ddp::config {

// A name from other programs, with the key of the same meaning, an explanation, or both.
struct CommonName {
  const char* name;
  const char* key = "";
  const char* words = "";
};
std::span<const CommonName> common_names();

// Returns a name in the spelling of the tables: small letters, "_" in place of "-".
std::string plain_name(std::string name);

// Finds a name in any case, with "-" or "_". Returns null for any other key.
const CommonName* find_common_name(const std::string& key);

// Returns the key that such a name means inside a section with these keys: "split" for "test_size" in [validation].
// Empty: the section has no key of this meaning.
std::string key_in_section(const std::string& name, const std::vector<std::string>& keys);

// Returns the remedy for a name that is known in one section alone, such as "beta1" in [optimizer]; empty for any other
// name.
std::string remedy_in_section(const std::string& section, const std::string& name);

// Returns `write dataset = { name = "csv", path = "iris.csv", … }` for a file in place of the component at `path`;
// empty if the text names no such file.
std::string remedy_of_file(const std::string& path, const std::string& kind, const std::string& text);

// Returns the component that a name from other programs means: "l1" for the loss "mae". Empty: the name is not known.
std::string common_component(const std::string& kind, const std::string& name);

// Returns the remedy for a type that other programs have in such a list: "ToTensor" in `transforms`. Empty: the type is
// not known.
std::string remedy_of_type(const std::string& list, const std::string& type);

// Returns the remedy for a value that other programs take at this key, such as weight = "balanced"; empty for any
// other.
std::string remedy_of_common_value(const std::string& path, const Node& value);

// The key of a section that probably takes a value given in place of the section, as in clip = 1.0.
struct FirstKey {
  const char* section;
  const char* key;
  const char* example;
};
// Returns null if the section has no such key.
const FirstKey* first_key(const std::string& section);
// Returns first_key() and then other keys that may take the value.
std::vector<FirstKey> first_keys(const std::string& section);

}  // namespace ddp::config
