#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// The server of live pages is in libddp_serve.so (runner/serve), which needs cpp-httplib.
namespace ddp::report {

struct ServerOptions {
  std::filesystem::path results;
  int port = 0;                                // 0: a free one
  std::string program = {};                    // its name and version
  std::vector<std::string> metrics = {};       // that a condition may name even if no run has them
  std::function<void(int port)> listens = {};  // called once, when the server accepts connections
};

}  // namespace ddp::report

// Serves pages about the results folder on 127.0.0.1 until SIGINT, SIGTERM or SIGHUP ends the process with exit code 0.
// Reads the results, and writes nothing. Throws ddp::Error (usage) if it cannot listen at the port.
extern "C" void ddp_serve(const ddp::report::ServerOptions* options);
