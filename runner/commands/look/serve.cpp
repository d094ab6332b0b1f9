#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/installation.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "config/components.h"
#include "config/metric.h"
#include "launch/library/libtorch.h"
#include "report/html/server.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

struct ServeOptions {
  std::string results = "results";
  int port = 0;
};

void serve(const ServeOptions& o) {
  if (std::error_code none; !fs::is_directory(o.results, none)) throw usage_error("is no folder", o.results);
  launch::obtain({serve_library().name});
  const report::ServerOptions options{
      .results = o.results,
      .port = o.port,
      .program = std::string("ddp-exp ") + launch::kVersion,
      .metrics = config::metric_names(config::Components::installed()),
      .listens = [](int port) { std::cout << "http://127.0.0.1:" << port << "/" << std::endl; }};
  reinterpret_cast<decltype(&ddp_serve)>(serve_library().entry("ddp_serve"))(&options);
}

void add_serve(CLI::App& verb, ServeOptions& options) {
  verb.add_option("--port", options.port, "port on 127.0.0.1; 0: a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  add_results(verb, options.results);
}

const bool serve_registered =
    register_verb(141, "serve", "show live pages of all runs in a browser of this machine, until ^C", add_serve, serve,
                  {.examples = {"serve", "serve --port 8080 --results /data/results"}});

}  // namespace

}  // namespace ddp::commands
