#include "config/option/text_form.h"

#include <map>

#include "base/error.h"
#include "config/run_part.h"
#include "config/time_span.h"

namespace ddp::config {

const TextForm& text_form(const std::string& name) {
  static const std::map<std::string, TextForm> kForms = {
      {kPartForm,
       {.in_words = "a text such as \"10 epochs\", \"200 steps\" or \"5%\" (of the run)",
        .pattern = R"(^[0-9]+(\.[0-9]+)?( steps?| epochs?| ?%)$)",
        .fits = [](const std::string& text) { return read_run_part(text).has_value(); }}},
      {kTimeSpanForm,
       {.in_words = "a text such as \"2h30m\", with days (d), hours (h), minutes (m) and seconds (s)",
        .pattern = "^([0-9]+[dhms])*$",
        .fits = [](const std::string& text) { return text.empty() || read_time_span(text).has_value(); }}},
  };
  const auto found = kForms.find(name);
  if (found == kForms.end()) throw usage_error("components.json names an unknown form \"" + name + "\"");
  return found->second;
}

}  // namespace ddp::config
