#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ddp::launch {

// A place as a user writes it: "10.0.0.1:29500", "node1:29500", "[fe80::1]:29500".
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

// Returns a host without the brackets of an IPv6 address: "[::1]" is "::1".
std::string without_brackets(const std::string& host);

// Returns the endpoint of a text that shall be a host alone; nothing if it is one. An IPv6 address has colons, too.
std::optional<Endpoint> port_behind_host(const std::string& text);

// Returns nothing if the text is no endpoint.
std::optional<Endpoint> parse_endpoint(const std::string& text);

// Returns what is wrong with a text that is no endpoint.
std::string wrong_endpoint(const std::string& text);

}  // namespace ddp::launch
