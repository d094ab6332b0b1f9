#include "launch/cluster/messages.h"

#include <exception>

#include "config/text/json_text.h"

namespace ddp::launch::message {

using config::Fields;
using config::Value;

void Hello::fields(Fields& f) {
  f({.name = "node"}, node);
  f({.name = "terms"}, terms);
}

void Refused::fields(Fields& f) { f({.name = "why"}, why); }

void Welcome::fields(Fields& f) {
  f({.name = "work"}, work);
  f({.name = "ip"}, ip);
  f({.name = "restarts"}, restarts);
}

void Failed::fields(Fields& f) { f({.name = "why"}, why); }

void Ready::fields(Fields& f) {
  f({.name = "devices"}, devices);
  f({.name = "data"}, data);
}

void Start::fields(Fields& f) {
  f({.name = "store_port"}, store_port);
  f({.name = "nodes"}, nodes);
  f({.name = "ranks_here"}, ranks_here);
  f({.name = "place"}, place);
  f({.name = "lost"}, lost);
}

void Alive::Standing::fields(Fields& f) {
  constexpr double kMostSteps = static_cast<double>(std::int64_t{1} << 62);  // adding 1 does not overflow
  f({.name = "step", .range = config::between(0, kMostSteps)}, step);
  f({.name = "phase"}, phase);
  f({.name = "collectives"}, collectives);
  f({.name = "collective"}, collective);
  f({.name = "stopped"}, stopped);
}

void Alive::fields(Fields& f) { f({.name = "ranks"}, ranks); }

void Stop::fields(Fields& f) {
  f({.name = "signal"}, signal);
  f({.name = "at_once"}, at_once);
}

void Log::fields(Fields& f) {
  f({.name = "rank"}, rank);
  f({.name = "text"}, text);
}

void Failure::fields(Fields& f) {
  f({.name = "rank"}, rank);
  f({.name = "what"}, what);
  f({.name = "lost"}, lost);
  f({.name = "hopeless"}, hopeless);
}

void End::fields(Fields& f) {
  f({.name = "code"}, code);
  f({.name = "why"}, why);
}

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
