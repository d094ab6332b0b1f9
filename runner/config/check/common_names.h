#pragma once

#include <span>
#include <string>

namespace ddp::config {

// A name that people know from other programs, and what says the same here: a key, or, where there is none, words.
struct CommonName {
  const char* name;
  const char* key = "";
  const char* words = "";
};
std::span<const CommonName> common_names();

// The remedy for such a name as an unknown key, in whatever case, with "-" or "_"; empty: it is not one.
std::string remedy_of_common_name(const std::string& key);

// The key of a section that a value in place of the section is likely to mean, as in clip = 1.0.
struct FirstKey {
  const char* section;
  const char* key;
  const char* example;
};
// Null: the section has none.
const FirstKey* first_key(const std::string& section);

}  // namespace ddp::config
