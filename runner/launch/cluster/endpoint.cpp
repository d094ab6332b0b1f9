#include "launch/cluster/endpoint.h"

#include "base/text_number.h"

namespace ddp::launch {

std::string without_brackets(const std::string& host) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

std::optional<Endpoint> port_behind_host(const std::string& text) {
  const auto endpoint = parse_endpoint(text);
  const bool is_ipv6 = endpoint && !text.starts_with('[') && endpoint->host.find(':') != std::string::npos;
  return is_ipv6 ? std::nullopt : endpoint;
}

std::optional<Endpoint> parse_endpoint(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return {};
  const std::uint16_t port = text_number<std::uint16_t>(text.substr(colon + 1)).value_or(0);
  const std::string host = without_brackets(text.substr(0, colon));
  if (port == 0 || host.empty()) return {};
  return Endpoint{.host = host, .port = port};
}

std::string wrong_endpoint(const std::string& text) {
  const auto colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
  const bool has_port = colon > 0 && !port.empty() && port.find_first_not_of("0123456789") == std::string::npos;
  return has_port ? "has the port " + port + ", and ports count from 1 to 65535" : "is not host:port";
}

}  // namespace ddp::launch
