#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/paths.h"
#include "commands/cluster/kubernetes_job.h"
#include "commands/cluster/slurm.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "config/text/compose.h"
#include "launch/library/libtorch.h"
#include "launch/library/plugin.h"

namespace ddp::commands {
namespace {

struct KubernetesOptions {
  KubernetesJob job;
  std::string file;
  std::string results = "results";
};

// Returns a path of this machine in the pods: the volume is there what the working folder is here.
std::string in_pods(const std::string& path) {
  const std::string here = paths::working_folder().string();
  if (path == here) return kVolume;
  return path.starts_with(here + "/") ? kVolume + path.substr(here.size()) : path;
}

bool is_of_texts(const config::Value& value) {
  return value.is_string() || (value.is_array() && !value.empty() && is_of_texts(value.front()));
}

// Returns the given settings with the texts that they have in the experiment, where paths are absolute.
config::Value for_pods(const config::Value& given, const config::Value& resolved) {
  if (given.is_object() && resolved.is_object()) {
    config::Value settings = config::Value::object();
    for (const auto& [key, value] : given.items()) settings[key] = for_pods(value, resolved.value(key, value));
    return settings;
  }
  if (!is_of_texts(given) || given.type() != resolved.type()) return given;
  if (given.is_string()) return in_pods(resolved);
  config::Value texts = config::Value::array();
  for (const config::Value& text : resolved) texts.push_back(for_pods(text, text));
  return texts;
}

// Returns the experiment as one file: what the file, those that it extends, and --set give.
std::string text_for_pods(const KubernetesOptions& o, const std::vector<std::string>& sets,
                          const config::Experiment& experiment) {
  config::Mistakes mistakes;
  const auto root = config::compose(o.file, sets, config::describe<config::Experiment>(), mistakes);
  if (!root) throw mistakes.error();
  config::Value given = config::to_value(*root);
  given.erase("sweep");
  given["name"] = experiment.name;
  return config::to_toml(for_pods(given, config::write(experiment)));
}

void require_text(const std::string& text, const std::string& where) {
  if (config::printable(text) == text) return;
  throw usage_error("has a control character, or is not UTF-8, which YAML requires", where);
}

int k8s(KubernetesOptions& o) {
  KubernetesJob& job = o.job;
  job.results = in_pods(paths::absolute(o.results).string());
  require_text(job.results, "--results");
  require_text(job.image, "--image");
  require_text(job.claim, "--claim");
  std::vector<std::string> sets = job.sets;
  if (!job.name.empty()) sets.push_back(config::assignment_of_option("--name", "name", job.name));
  const auto loaded = launch::load_experiment(o.file, sets);
  const std::string name = job.job_name.empty() ? loaded.experiment.name : job.job_name;
  if (job.job_name.empty()) job.job_name = kubernetes_name(name);
  if (job.job_name != kubernetes_name(job.job_name)) {
    throw usage_error(config::in_quotes(name) + " cannot be the name of a job", "--job-name",
                      "use at most 56 lower-case letters, digits and '-', a letter first");
  }
  warn_of_devices({loaded}, job);
  if (config::has_sweep(o.file, sets)) log::warn(o.file + " has a [sweep], and this job trains the file once");
  job.grace = loaded.experiment.grace;
  job.experiment = text_for_pods(o, sets, loaded.experiment);
  std::cout << kubernetes_file(job) << std::flush;
  return 0;
}

void add_k8s(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<KubernetesOptions>();
  KubernetesJob& job = o->job;
  job.image = std::string("ddp-exp:") + launch::kVersion;
  job.claim = "ddp-exp";
  CLI::App* verb = app.add_subcommand("k8s", "print a job that trains on the nodes of a Kubernetes cluster");
  add_training(*verb, o->file, job);
  verb->add_option("--gpus-per-node", job.gpus_per_node, "GPUs per node; default: none")
      ->check(CLI::Range(0, 1'000'000));
  verb->add_option("--image", job.image, "image of the pods")->capture_default_str();
  verb->add_option("--claim", job.claim, "claim of the volume that has data and results")->capture_default_str();
  verb->add_option("--job-name", job.job_name, "name of the job, and id of its run; default: the experiment's name");
  verb->add_option("--port", job.port, "port of the first node; default: 29500")->check(CLI::Range(1, 65535));
  add_results(*verb, o->results);
  verb->callback([o, &exit_code] { exit_code = k8s(*o); });
}

const bool k8s_registered = register_verb(151, add_k8s);

}  // namespace

}  // namespace ddp::commands
