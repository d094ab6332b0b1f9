#pragma once

#include <string>
#include <vector>

#include "config/option/option.h"

namespace ddp::config {

// A form of an option's text, such as a part of a run: "10 epochs".
struct TextForm {
  std::string in_words;                   // its description in errors
  std::string pattern;                    // the regular expression of the JSON Schema
  bool (*fits)(const std::string& text);  // does a text have the form?
};

// The names of the forms: Option::form.
inline constexpr const char* kPartForm = "part";          // config/run_part.h
inline constexpr const char* kTimeSpanForm = "timespan";  // config/time_span.h

// The types of each value of a list whose texts have a form.
inline const std::vector<Type> kTypesWithForm = {Type::integer, Type::text};

// Throws ddp::Error (usage) for an unknown form: components.json is damaged.
const TextForm& text_form(const std::string& name);

}  // namespace ddp::config
