#include "config/text/json_text.h"

#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

#include "config/text/source.h"

namespace ddp::config {
namespace {

constexpr int kDeepest = 32;
constexpr std::size_t kMostKeysInOrder = 1000;

// Watches the parser and ends it when the text exceeds a limit.
class Watch {
 public:
  explicit Watch(std::size_t most_keys) : most_keys_(most_keys) {}

  template <class Json>
  void see(int depth, typename Json::parse_event_t event, const Json& parsed) {
    using Event = typename Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kDeepest) throw std::runtime_error("it is nested deeper than " + std::to_string(kDeepest));
      if (event == Event::object_start) keys_.emplace_back();
    } else if (event == Event::object_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& name = parsed.template get_ref<const std::string&>();
      if (!keys_.back().insert(name).second) throw std::runtime_error("it has the key " + in_quotes(name) + " twice");
      if (keys_.back().size() > most_keys_) throw std::runtime_error("it has too many keys");
    }
  }

 private:
  const std::size_t most_keys_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

template <class Json>
Json parse(std::string_view text, std::size_t most_keys) {
  Watch watch(most_keys);
  Json json = Json::parse(
      text.begin(), text.end(),
      [&watch](int depth, typename Json::parse_event_t event, Json& parsed) {
        watch.see<Json>(depth, event, parsed);
        return true;
      },
      /*allow_exceptions=*/false);
  if (json.is_discarded()) throw std::runtime_error("it is not JSON");
  return json;
}

template <class Json>
std::int64_t to_count(const Json& value, std::int64_t most, const std::string& name) {
  if (!value.is_number_unsigned()) throw std::runtime_error(name + " is not a whole number of at least 0");
  const auto number = value.template get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(most)) throw std::runtime_error(name + " is too large");
  return static_cast<std::int64_t>(number);
}

}  // namespace

nlohmann::json parse_json(std::string_view text) { return parse<nlohmann::json>(text, SIZE_MAX); }

Value number_or_null(double number) { return std::isfinite(number) ? Value(number) : Value(); }

Value parse_value(std::string_view text) { return parse<Value>(text, kMostKeysInOrder); }

const nlohmann::json& member(const nlohmann::json& object, const std::string& key) {
  if (!object.is_object()) throw std::runtime_error("no object has the key " + in_quotes(key));
  const auto found = object.find(key);
  if (found == object.end()) throw std::runtime_error(in_quotes(key) + " is missing");
  return *found;
}

std::string text_member(const nlohmann::json& object, const std::string& key) {
  const auto& value = member(object, key);
  if (!value.is_string()) throw std::runtime_error(in_quotes(key) + " is not a text");
  return value.get<std::string>();
}

double number_member(const nlohmann::json& object, const std::string& key) {
  const auto& value = member(object, key);
  if (!value.is_number()) throw std::runtime_error(in_quotes(key) + " is not a number");
  return value.get<double>();
}

std::int64_t count_member(const nlohmann::json& object, const std::string& key, std::int64_t most) {
  return to_count(member(object, key), most, "\"" + key + "\"");
}

std::int64_t as_count(const nlohmann::json& value, std::int64_t most) { return to_count(value, most, "a number"); }

std::int64_t as_count(const Value& value, std::int64_t most) { return to_count(value, most, "a number"); }

}  // namespace ddp::config
