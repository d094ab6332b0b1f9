#pragma once

#include <string>

#include "commands/cluster/training_job.h"

namespace ddp::commands {

// The place of the volume in each pod, and its working folder. deploy/Dockerfile makes it.
inline constexpr const char* kVolume = "/srv/ddp-exp";

// A training on pods of a Kubernetes cluster, one per node.
struct KubernetesJob : TrainingJob {
  std::string image;
  std::string claim;       // PersistentVolumeClaim of the volume
  std::string experiment;  // text of the experiment file
  std::string results;     // folder in the pods
  double grace = 0;        // of the experiment, in seconds
};

// Returns the name of a job for an experiment: a DNS label that leaves room for the number of a pod.
std::string kubernetes_name(const std::string& name);

// Returns a YAML file for `kubectl apply`: the experiment as a ConfigMap, a Service that gives the pods names, and an
// Indexed Job. The run's id is the job's name, so a pod that is made anew resumes the run.
std::string kubernetes_file(const KubernetesJob& job);

}  // namespace ddp::commands
