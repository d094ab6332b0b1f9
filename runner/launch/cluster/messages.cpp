#include "launch/cluster/messages.h"

#include <exception>

#include "config/text/json_text.h"

namespace ddp::launch::message {

using config::Value;

namespace {

template <class... T>
std::optional<Any> read(const std::string& type, const Value& object, const std::variant<T...>*) {
  std::optional<Any> message;
  const auto try_type = [&]<class One>(const One*) {
    if (type == One::kType) message = config::read_written<One>(object);
  };
  (try_type(static_cast<const T*>(nullptr)), ...);
  return message;
}

}  // namespace

std::string line_of(const Any& message) {
  const Value object = std::visit(
      [](const auto& one) {
        Value all{{"type", one.kType}};
        all.update(config::written(one));
        return all;
      },
      message);
  return object.dump(-1, ' ', false, Value::error_handler_t::replace) + '\n';
}

std::optional<Any> read_line(std::string_view line) try {
  const Value object = config::parse_value(line);
  const std::string type = object.is_object() ? object.value("type", "") : "";
  return read(type, object, static_cast<const Any*>(nullptr));
} catch (const std::exception&) {  // a stranger's text, or a type that is no text
  return {};
}

}  // namespace ddp::launch::message
