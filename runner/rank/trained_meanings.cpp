#include "rank/trained_meanings.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/text/source.h"
#include "record/saves/data_files.h"

namespace ddp::rank {
namespace {

using config::Value;

constexpr std::size_t kMostNames = 8;

// Returns `"no", "yes"`; the first ones of many.
std::string in_words(const Value& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += (i == 0 ? "" : ", ") +
            (names[i].is_string() ? config::in_quotes(names[i].get<std::string>()) : names[i].dump());
  }
  return names.size() > kMostNames ? text + ", …" : text;
}

[[noreturn]] void refuse(const std::string& what, const Value& then, const Value& now) {
  throw usage_error(what + " of these data are " + in_words(now) + ", and the run trained with " + in_words(then) +
                        ": the trained weights would take one for the other",
                    "dataset", "keep them as in the training, or train a new run on these data");
}

void require_same_list(const std::string& what, const Value& then, const Value& now) {
  if (then != now) refuse(what, then, now);
}

// Returns the features' names.
Value names_of(const Value& features) {
  Value names = Value::array();
  for (const Value& feature : features) names.push_back(feature.value("name", ""));
  return names;
}

void require_same_features(const Value& then, const Value& now) {
  require_same_list("the features", names_of(then), names_of(now));
  for (std::size_t i = 0; i < then.size(); ++i) {
    require_same_list("the categories of " + config::in_quotes(then[i].value("name", "")),
                      then[i].value("categories", Value::array()), now[i].value("categories", Value::array()));
  }
}

}  // namespace

void require_trained_meanings(const Task& t, const data::Sets& sets) {
  const Value& now = sets.preprocessing;
  if (t.resume_from.empty() || !now.is_object()) return;
  const Value then = record::fitted_to_data(t.resume_from);
  if (!then.is_object()) return;
  const auto both_have = [&](const char* key) { return then.contains(key) && now.contains(key); };
  if (both_have("features")) require_same_features(then.at("features"), now.at("features"));
  for (const auto& [key, what] : {std::pair("targets", "the targets"), std::pair("classes", "the classes")}) {
    if (both_have(key)) require_same_list(what, then.at(key), now.at(key));
  }
  if (both_have("tokenizer") && then.at("tokenizer") != now.at("tokenizer")) {
    throw usage_error(
        "the data give other tokens than the training did: the trained weights would take "
        "one for the other",
        "dataset", "give dataset.tokenizer as in the training, or train a new run on these data");
  }
}

}  // namespace ddp::rank
