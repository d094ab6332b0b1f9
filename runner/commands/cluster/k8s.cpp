#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/paths.h"
#include "commands/cluster/slurm.h"
#include "commands/cluster/training_job.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "config/load/compose.h"
#include "launch/library/libtorch.h"
#include "launch/library/plugin.h"

namespace ddp::commands {
namespace {

// The place of the volume in each pod, and its working folder. deploy/Dockerfile makes it.
constexpr const char* kVolume = "/srv/ddp-exp";
constexpr const char* kExperimentFolder = "/srv/experiment";
constexpr const char* kExperimentFile = "experiment.toml";
constexpr std::size_t kLongestName = 56;  // a pod's name is a label of at most 63 characters, with "-" and its number
constexpr std::int64_t kAfterGrace = 30;  // seconds to end the ranks and to write the summary
constexpr std::uint16_t kMeetingPort = 29500;

struct KubernetesOptions {
  TrainingJob job;
  std::string file;
  std::string results = "results";
  std::string image = std::string("ddp-exp:") + launch::kVersion;
  std::string claim = "ddp-exp";  // PersistentVolumeClaim of the volume
};

// Kubernetes replaces $(NAME) in a pod's arguments, and $$ by $.
std::string argument(const std::string& text) {
  std::string doubled;
  for (const char c : text) doubled += c == '$' ? "$$" : std::string(1, c);
  return doubled;
}

std::vector<std::string> arguments(const KubernetesOptions& o) {
  NodeWords words{.experiment = std::string(kExperimentFolder) + "/" + kExperimentFile,
                  .results = argument(o.results),
                  .run_id = o.job.job_name};
  if (o.job.nodes > 1) {
    words.nodes = std::to_string(o.job.nodes);
    words.node_rank = "$(JOB_COMPLETION_INDEX)";
    words.master = o.job.job_name + "-0." + o.job.job_name;
    words.port = std::to_string(o.job.port.value_or(kMeetingPort));
  }
  return node_command(o.job, words);
}

config::Value named(const std::string& name) { return {{"name", name}}; }

config::Value container_of(const KubernetesOptions& o) {
  config::Value container = {{"name", "ddp-exp"}, {"image", o.image}, {"args", arguments(o)}};
  const int gpus = o.job.gpus_per_node.value_or(0);
  if (gpus > 0) container["resources"] = {{"limits", {{"nvidia.com/gpu", gpus}}}};
  container["workingDir"] = kVolume;
  const auto mount = [](const char* name, const char* path) {
    return config::Value{{"name", name}, {"mountPath", path}};
  };
  container["volumeMounts"] = config::Value::array(
      {mount("experiment", kExperimentFolder), mount("volume", kVolume), mount("shm", "/dev/shm")});
  return container;
}

config::Value pod_of(const KubernetesOptions& o, double grace) {
  const int shm = std::max(1, o.job.gpus_per_node.value_or(0));  // GiB
  config::Value volumes = config::Value::array();
  volumes.push_back({{"name", "experiment"}, {"configMap", named(o.job.job_name)}});
  volumes.push_back({{"name", "volume"}, {"persistentVolumeClaim", {{"claimName", o.claim}}}});
  // NCCL's buffers: a container's own 64 MiB are too few.
  volumes.push_back({{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", std::to_string(shm) + "Gi"}}}});
  return {{"subdomain", o.job.job_name},
          {"restartPolicy", "Never"},
          {"terminationGracePeriodSeconds", static_cast<std::int64_t>(std::ceil(grace)) + kAfterGrace},
          // As process 1 of its own, a program that waits for others would ignore SIGTERM.
          {"shareProcessNamespace", true},
          // The image's user writes to the volume.
          {"securityContext", {{"fsGroup", 1000}}},
          {"containers", config::Value::array({container_of(o)})},
          {"volumes", volumes}};
}

// Pods that fail are made anew, and resume the run. Unless it is elastic, all fail if one does.
config::Value failure_rules() {
  const auto at_exit = [](const char* action, int code) {
    return config::Value{
        {"action", action},
        {"onExitCodes", {{"operator", "In"}, {"values", config::Value::array({code})}}},
    };
  };
  const config::Value disruption = {{"type", "DisruptionTarget"}, {"status", "True"}};
  return config::Value::array({at_exit("FailJob", 130),  // "ddp-exp stop" ended the run
                               at_exit("Ignore", 143),   // a pod was evicted, and all nodes have saved
                               {{"action", "Ignore"}, {"onPodConditions", config::Value::array({disruption})}}});
}

// Returns what `kubectl apply` takes: the experiment as a ConfigMap, a Service that gives the pods names, and an
// Indexed Job. The run's id is the job's name, so a pod that is made anew resumes the run.
config::Value manifest(const KubernetesOptions& o, const std::string& experiment, double grace) {
  const std::string& name = o.job.job_name;
  const config::Value settings = {{"apiVersion", "v1"},
                                  {"kind", "ConfigMap"},
                                  {"metadata", named(name)},
                                  {"immutable", true},  // a run keeps its settings
                                  {"data", {{kExperimentFile, experiment}}}};
  // NAME-0.NAME is the first pod, where the others meet it.
  const config::Value service = {
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata", named(name)},
      {"spec", {{"clusterIP", "None"}, {"publishNotReadyAddresses", true}, {"selector", {{"job-name", name}}}}}};
  const config::Value job = {{"apiVersion", "batch/v1"},
                             {"kind", "Job"},
                             {"metadata", named(name)},
                             {"spec",
                              {{"completionMode", "Indexed"},
                               {"completions", o.job.nodes},
                               {"parallelism", o.job.nodes},
                               {"backoffLimitPerIndex", 6},
                               {"maxFailedIndexes", 0},
                               {"podFailurePolicy", {{"rules", failure_rules()}}},
                               {"template", {{"spec", pod_of(o, grace)}}}}}};
  return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", config::Value::array({settings, service, job})}};
}

// Returns the name of a job for an experiment: a DNS label that leaves room for the number of a pod.
std::string kubernetes_name(const std::string& name) {
  std::string label;
  for (const char c : name) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_letter = lower >= 'a' && lower <= 'z';
    label += is_letter || (lower >= '0' && lower <= '9') ? lower : '-';
  }
  label.erase(0, label.find_first_not_of('-'));
  if (label.empty() || label.front() <= '9') label = "run-" + label;
  label = label.substr(0, kLongestName);
  label.erase(label.find_last_not_of('-') + 1);
  return label;
}

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
  throw usage_error("has a control character, or is not UTF-8", where);
}

int k8s(KubernetesOptions& o) {
  TrainingJob& job = o.job;
  o.results = in_pods(paths::absolute(o.results).string());
  require_text(o.results, "--results");
  require_text(o.image, "--image");
  require_text(o.claim, "--claim");
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
  const std::string experiment = text_for_pods(o, sets, loaded.experiment);
  std::cout
      << manifest(o, experiment, loaded.experiment.grace).dump(2, ' ', false, config::Value::error_handler_t::replace)
      << std::endl;
  return 0;
}

void add_k8s(CLI::App& verb, KubernetesOptions& o) {
  TrainingJob& job = o.job;
  add_training(verb, o.file, job);
  verb.add_option("--gpus-per-node", job.gpus_per_node, "GPUs per node; default: none")
      ->check(CLI::Range(0, 1'000'000));
  verb.add_option("--image", o.image, "image of the pods")->type_name("IMAGE")->capture_default_str();
  verb.add_option("--claim", o.claim, "claim of the volume that has data and results")
      ->type_name("NAME")
      ->capture_default_str();
  verb.add_option("--job-name", job.job_name, "name of the job, and id of its run; default: the experiment's name")
      ->type_name("NAME");
  verb.add_option("--port", job.port, "port of the first node; default: 29500")->check(CLI::Range(1, 65535));
  add_results(verb, o.results);
}

const bool k8s_registered = register_verb(
    151, "k8s", "print a job that trains on the nodes of a Kubernetes cluster", add_k8s, k8s,
    {.examples = {"k8s experiments/basic.toml --nodes 2 | kubectl apply -f -"}, .aliases = {"kubernetes", "kubectl"}});

}  // namespace

}  // namespace ddp::commands
