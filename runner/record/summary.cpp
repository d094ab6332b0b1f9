#include "record/summary.h"

#include "record/atomic_file.h"
#include "record/timestamp.h"

namespace ddp::record {

void write_summary(const RunDirectory& run, const Summary& s) {
  config::Value json = {
      {"version", 1},
      {"status", s.status},
      {"name", s.name},
      {"run_id", run.path().filename().string()},
      {"started", s.started},
      {"ended", s.status == "running" ? config::Value(nullptr) : config::Value(timestamp(std::time(nullptr)))},
      {"epochs", s.epochs},
      {"steps", s.steps},
      {"final", s.final_metrics},
      {"best", s.best},
      {"seconds", s.seconds},
      {"world_size", s.world_size},
      {"devices", s.devices},
      {"backend", s.backend},
      {"versions", s.versions},
      {"git", s.git},
      {"config_hash", s.config_hash},
      {"restarts", s.restarts},
      {"launch", s.launch.empty() ? config::Value(nullptr) : config::Value(s.launch)},
      {"error", nullptr},
  };
  if (s.error) json["error"] = {{"rank", s.error->rank}, {"what", s.error->what}, {"log", s.error->log}};
  using Handler = config::Value::error_handler_t;
  write_atomically(run.summary(), json.dump(2, ' ', false, Handler::replace) + "\n");
}

}  // namespace ddp::record
