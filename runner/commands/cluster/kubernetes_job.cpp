#include "commands/cluster/kubernetes_job.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "config/value.h"

namespace ddp::commands {
namespace {

constexpr std::size_t kLongestName = 56;  // a pod's name is a label of at most 63 characters, with "-" and its number
constexpr std::int64_t kAfterGrace = 30;  // seconds to end the ranks and to write the summary
constexpr std::uint16_t kMeetingPort = 29500;
constexpr const char* kExperimentFolder = "/srv/experiment";
constexpr const char* kExperimentFile = "experiment.toml";

// Replaces the characters that YAML reads as line ends, or not at all, by their escapes. JSON escapes all others.
std::string escaped(std::string text) {
  const auto replace = [&](const std::string& raw, const std::string& escape) {
    for (std::size_t at = 0; (at = text.find(raw, at)) != std::string::npos; at += escape.size())
      text.replace(at, raw.size(), escape);
  };
  replace("\x7f", "\\x7f");
  for (int c = 0x80; c < 0xa0; ++c) {
    const char* digits = "0123456789abcdef";
    replace({'\xc2', static_cast<char>(c)}, std::string("\\x") + digits[c / 16] + digits[c % 16]);
  }
  replace("\xe2\x80\xa8", "\\u2028");
  replace("\xe2\x80\xa9", "\\u2029");
  replace("\xef\xbb\xbf", "\\ufeff");
  return text;
}

std::string in_yaml(const std::string& text) {
  return escaped(config::Value(text).dump(-1, ' ', false, config::Value::error_handler_t::replace));
}

// Several lines stand as they are, if YAML can print them.
std::string lines_in_yaml(const std::string& text, const std::string& indent) {
  if (escaped(text) != text) return " " + in_yaml(text) + "\n";
  std::string block = " |\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) block += (line.empty() ? "" : indent + line) + "\n";
  return block;
}

// Kubernetes replaces $(NAME) in a pod's arguments, and $$ by $.
std::string argument(const std::string& text) {
  std::string doubled;
  for (const char c : text) doubled += c == '$' ? "$$" : std::string(1, c);
  return doubled;
}

std::string arguments(const KubernetesJob& job, const std::string& indent) {
  NodeWords words{.experiment = std::string(kExperimentFolder) + "/" + kExperimentFile,
                  .results = argument(job.results),
                  .run_id = job.job_name};
  if (job.nodes > 1) {
    words.nodes = std::to_string(job.nodes);
    words.node_rank = "$(JOB_COMPLETION_INDEX)";
    words.master = job.job_name + "-0." + job.job_name;
    words.port = std::to_string(job.port.value_or(kMeetingPort));
  }
  std::string lines;
  for (const std::string& word : node_command(job, words)) lines += indent + "- " + in_yaml(word) + "\n";
  return lines;
}

// A value replaces each name between two @.
constexpr const char* kFile =
    R"(# Trains an experiment with ddp-exp, with one pod per node. Written by "ddp-exp k8s", yours to change.
apiVersion: v1
kind: ConfigMap
metadata:
  name: @name@
immutable: true # a run keeps its settings
data:
  @file@:@experiment@---
# Gives the pods names: NAME-0.NAME is the first one, where the others meet it.
apiVersion: v1
kind: Service
metadata:
  name: @name@
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    job-name: @name@
---
apiVersion: batch/v1
kind: Job
metadata:
  name: @name@
spec:
  completionMode: Indexed
  completions: @nodes@
  parallelism: @nodes@
  # Pods that fail are made anew, and resume the run. Unless it is elastic, all fail if one does.
  backoffLimitPerIndex: 6
  maxFailedIndexes: 0
  podFailurePolicy:
    rules:
      - action: FailJob # "ddp-exp stop" ended the run
        onExitCodes: {operator: In, values: [130]}
      - action: Ignore # a pod was evicted, and all nodes have saved
        onExitCodes: {operator: In, values: [143]}
      - action: Ignore
        onPodConditions: [{type: DisruptionTarget, status: "True"}]
  template:
    spec:
      subdomain: @name@
      restartPolicy: Never
      terminationGracePeriodSeconds: @stop@ # 30 more than the experiment's grace, the time to save
      shareProcessNamespace: true # as process 1 of its own, a program that waits for others would ignore SIGTERM
      securityContext:
        fsGroup: 1000 # the image's user writes to the volume
      containers:
        - name: ddp-exp
          image: @image@
          args:
@arguments@@limits@          workingDir: @volume@
          volumeMounts:
            - {name: experiment, mountPath: @folder@}
            - {name: volume, mountPath: @volume@}
            - {name: shm, mountPath: /dev/shm}
      volumes:
        - name: experiment
          configMap: {name: @name@}
        - name: volume
          persistentVolumeClaim: {claimName: @claim@}
        - name: shm # NCCL's buffers: a container's own 64 MiB are too few
          emptyDir: {medium: Memory, sizeLimit: @shm@Gi}
)";

std::string filled(const std::string& text, const std::map<std::string, std::string>& values) {
  std::istringstream parts(text);
  std::string result;
  bool is_name = false;
  for (std::string part; std::getline(parts, part, '@'); is_name = !is_name) result += is_name ? values.at(part) : part;
  return result;
}

std::string limits(int gpus) {
  if (gpus == 0) return "";
  return "          resources:\n            limits:\n              nvidia.com/gpu: " + std::to_string(gpus) + "\n";
}

}  // namespace

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

std::string kubernetes_file(const KubernetesJob& job) {
  const int gpus = job.gpus_per_node.value_or(0);
  return filled(kFile, {{"name", in_yaml(job.job_name)},
                        {"file", kExperimentFile},
                        {"experiment", lines_in_yaml(job.experiment, "    ")},
                        {"nodes", std::to_string(job.nodes)},
                        {"image", in_yaml(job.image)},
                        {"arguments", arguments(job, "            ")},
                        {"limits", limits(gpus)},
                        {"volume", kVolume},
                        {"folder", kExperimentFolder},
                        {"stop", std::to_string(static_cast<std::int64_t>(std::ceil(job.grace)) + kAfterGrace)},
                        {"claim", in_yaml(job.claim)},
                        {"shm", std::to_string(std::max(1, gpus))}});
}

}  // namespace ddp::commands
