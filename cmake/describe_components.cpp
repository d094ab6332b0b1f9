// Run by the build: writes the components of the rank library and the search methods to the given file, for programs
// that do not load the library.
#include <exception>
#include <fstream>
#include <iostream>

#include "config/components.h"
#include "rank/request.h"
#include "rank/verbs.h"
#include "search/search.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: describe_components FILE\n";
    return 2;
  }
  ddp::config::Components components;
  try {
    const ddp::rank::Task nobody;
    const ddp::rank::Request request{
        .verb = ddp::rank::ComponentsRequest::kVerb,
        .task = nobody,
        .reply = [&](const ddp::config::Value& reply) { components = ddp::config::Components::from_json(reply); },
        .refuse = [](const ddp::Error& error) { std::cerr << "error: " << error.what() << '\n'; }};
    if (ddp_rank_serve(&request) != 0) return 1;
    for (auto& method : ddp::search::methods().specs()) components.add("method", method);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
  std::ofstream out(argv[1]);
  out << components.to_json().dump(1) << '\n';
  return out.good() ? 0 : 1;
}
