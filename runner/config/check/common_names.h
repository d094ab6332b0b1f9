#pragma once

#include <span>
#include <string>

namespace ddp::config {

// A name from other programs, with the key of the same meaning, an explanation, or both.
struct CommonName {
  const char* name;
  const char* key = "";
  const char* words = "";
};
std::span<const CommonName> common_names();

// Finds a name in any case, with "-" or "_". Returns null for any other key.
const CommonName* find_common_name(const std::string& key);

// Returns the remedy for an unknown key that is such a name; empty for any other key.
std::string remedy_of_common_name(const std::string& key);

// The key of a section that probably takes a value given in place of the section, as in clip = 1.0.
struct FirstKey {
  const char* section;
  const char* key;
  const char* example;
};
// Returns null if the section has no such key.
const FirstKey* first_key(const std::string& section);

}  // namespace ddp::config
