#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/option/fields.h"
#include "record/saves/data_files.h"

namespace ddp::launch::message {

// The messages between the parents of two nodes: each is one line, an object of JSON whose "type" names its struct.
//
// A node sends `Hello` with its terms. Node 0 answers `Refused`; or, once all nodes have joined, `Welcome` with the
// work as it resolved it (for a run: its experiment). The node tries the work and sends `Ready` or `Failed`. When all
// are ready, node 0 sends `Start`. While ranks run, both sides send `Alive` and `Stop`; a node sends `Log`, `Done` or
// `Failure`; node 0 sends `End` or `Again`. After `Again` a node ends its ranks, sends `Ended`, and waits for another
// `Start`. A node that an elastic run can do without for a while answers each `Alive` with `Waiting`.

struct Hello {
  int node = 0;
  config::Value terms = {};  // what all nodes must agree on, see terms_of()

  static constexpr const char* kType = "hello";
  void fields(config::Fields& f) {
    f({.name = "node"}, node);
    f({.name = "terms"}, terms);
  }
};

struct Refused {
  std::string why = {};

  static constexpr const char* kType = "refused";
  void fields(config::Fields& f) { f({.name = "why"}, why); }
};

struct Welcome {
  config::Value work = {};
  std::string ip = {};  // node 0's, as the other nodes reach it
  std::int64_t restarts = 0;

  static constexpr const char* kType = "welcome";
  void fields(config::Fields& f) {
    f({.name = "work"}, work);
    f({.name = "ip"}, ip);
    f({.name = "restarts"}, restarts);
  }
};

// The node cannot take part.
struct Failed {
  std::string why = {};

  static constexpr const char* kType = "failed";
  void fields(config::Fields& f) { f({.name = "why"}, why); }
};

struct Ready {
  std::vector<std::string> devices = {};      // of its ranks
  std::vector<record::DataSample> data = {};  // the files that it reads

  static constexpr const char* kType = "ready";
  void fields(config::Fields& f) {
    f({.name = "devices"}, devices);
    f({.name = "data"}, data);
  }
};

// The node forks its ranks, as a part of this world.
struct Start {
  std::uint16_t store_port = 0;
  int nodes = 0;
  int ranks_here = 0;
  int place = 0;               // of the node, among those that compute
  std::vector<int> lost = {};  // those of its ranks that are lost for good

  static constexpr const char* kType = "start";
  void fields(config::Fields& f) {
    f({.name = "store_port"}, store_port);
    f({.name = "nodes"}, nodes);
    f({.name = "ranks_here"}, ranks_here);
    f({.name = "place"}, place);
    f({.name = "lost"}, lost);
  }
};

// A heartbeat, with the standing of all ranks by rank, as far as the sender knows them.
struct Alive {
  struct Standing {
    std::int64_t step = 0;
    int phase = 0;
    std::int64_t collectives = 0;
    int collective = 0;
    bool stopped = false;

    void fields(config::Fields& f) {
      constexpr double kMostSteps = static_cast<double>(std::int64_t{1} << 62);  // adding 1 does not overflow
      f({.name = "step", .range = config::between(0, kMostSteps)}, step);
      f({.name = "phase"}, phase);
      f({.name = "collectives"}, collectives);
      f({.name = "collective"}, collective);
      f({.name = "stopped"}, stopped);
    }
  };
  std::vector<Standing> ranks = {};

  static constexpr const char* kType = "alive";
  void fields(config::Fields& f) { f({.name = "ranks"}, ranks); }
};

// A node was asked to stop.
struct Stop {
  int signal = 0;
  bool at_once = false;

  static constexpr const char* kType = "stop";
  void fields(config::Fields& f) {
    f({.name = "signal"}, signal);
    f({.name = "at_once"}, at_once);
  }
};

// A piece of a rank's output.
struct Log {
  int rank = 0;
  std::string text = {};

  static constexpr const char* kType = "log";
  void fields(config::Fields& f) {
    f({.name = "rank"}, rank);
    f({.name = "text"}, text);
  }
};

// All ranks of the node have ended successfully.
struct Done {
  static constexpr const char* kType = "done";
  void fields(config::Fields&) {}
};

// A rank of the node has failed.
struct Failure {
  int rank = 0;
  std::string what = {};
  bool lost = false;
  bool hopeless = false;  // a restart would fail again

  static constexpr const char* kType = "failure";
  void fields(config::Fields& f) {
    f({.name = "rank"}, rank);
    f({.name = "what"}, what);
    f({.name = "lost"}, lost);
    f({.name = "hopeless"}, hopeless);
  }
};

// The work is over.
struct End {
  int code = 0;
  std::string why = {};

  static constexpr const char* kType = "end";
  void fields(config::Fields& f) {
    f({.name = "code"}, code);
    f({.name = "why"}, why);
  }
};

// All ranks start again.
struct Again {
  static constexpr const char* kType = "again";
  void fields(config::Fields&) {}
};

// The node's ranks have ended, after `Again`.
struct Ended {
  static constexpr const char* kType = "ended";
  void fields(config::Fields&) {}
};

struct Waiting {
  static constexpr const char* kType = "waiting";
  void fields(config::Fields&) {}
};

using Any = std::variant<Hello, Refused, Welcome, Failed, Ready, Start, Alive, Stop, Log, Done, Failure, End, Again,
                         Ended, Waiting>;

// Returns the line of a message, with its end.
std::string line_of(const Any& message);

// Reads a line; nothing if it is no message.
std::optional<Any> read_line(std::string_view line);

// Returns the message if it is of this type.
template <class T>
const T* get_if(const std::optional<Any>& message) {
  return message ? std::get_if<T>(&*message) : nullptr;
}

}  // namespace ddp::launch::message
