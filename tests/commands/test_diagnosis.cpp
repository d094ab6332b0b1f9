#include <algorithm>
#include <functional>
#include <limits>
#include <sstream>

#include "catch.h"
#include "commands/look/diagnosis.h"
#include "lines.h"
#include "words.h"

namespace ddp::commands {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// A machine without fault.
Machine sound_machine() {
  Machine m{.cpu = "A CPU", .cpu_capability = "avx2"};
  m.library.facts.seconds = 0.2;
  m.cores = {.online = 8, .allowed = 8, .quota = std::numeric_limits<double>::infinity()};
  m.usable_cores = m.threads = 8;
  m.memory = {.machine = 64 * kGiB, .group = 64 * kGiB, .available = 32 * kGiB};
  m.shm_free = 32 * kGiB;
  m.files = 1024;
  m.user_tasks = 10000;
  m.results = "results";
  m.folder.facts = {.exists = true, .folder = "/home/me/results", .type = "ext4", .free = 100 * kGiB};
  return m;
}

Machine machine_with_gpus() {
  Machine m = sound_machine();
  m.gpus.facts = {.exists = true, .cuda = 13000, .gpus = {"A GPU, 80.0 GiB", "A GPU, 80.0 GiB"}};
  m.library.facts.cuda = 13000;
  m.library.facts.nccl = 22705;
  return m;
}

// The finding of this name, after this change of the machine.
Finding found(const std::string& name, const std::function<void(Machine&)>& change, Machine machine = sound_machine()) {
  change(machine);
  for (const Finding& finding : judge(machine)) {
    const bool advised = finding.state == "slow" || finding.state == "broken";
    CHECK(advised == !finding.advice.empty());
    if (finding.name == name) return finding;
  }
  return {.state = "not listed"};
}

void nothing(Machine&) {}

}  // namespace

TEST_CASE("on a sound machine nothing is slow or broken") {
  for (const auto& machine : {sound_machine(), machine_with_gpus()}) {
    const auto findings = judge(machine);
    CHECK_FALSE(any_broken(findings));
    for (const Finding& f : findings) {
      CAPTURE(f.name, f.text);
      CHECK((f.state == "fact" || f.state == "good"));
    }
  }
  CHECK(found("GPUs", nothing).text == "no NVIDIA driver: ranks train on the CPU");
}

TEST_CASE("limits of cores, threads, memory, files and processes are named with what lifts them") {
  const Finding affinity = found("cores", [](auto& m) { m.usable_cores = m.cores.allowed = 1; });
  CHECK(affinity.state == "slow");
  CHECK(affinity.text == "1 of 8: the affinity allows 1");
  CHECK(contains(affinity.advice, "taskset"));
  const Finding quota = found("cores", [](auto& m) {
    m.cores.quota = 1.5;
    m.usable_cores = 1;
  });
  CHECK(quota.text == "1 of 8: the control group's quota is 1.5");
  CHECK(contains(quota.advice, "cpu.max"));
  CHECK(contains(found("threads", [](auto& m) { m.threads = 1; }).text, "1 thread for each rank, by OMP_NUM_THREADS"));
  CHECK(found("CPU", [](auto& m) { m.cpu_capability = "default"; }).state == "slow");
  CHECK(found("memory", [](auto& m) { m.memory.available = kGiB / 2; }).state == "slow");
  const Finding memory = found("memory", [](auto& m) { m.memory.available = m.memory.group = kGiB / 8; });
  CHECK(memory.state == "broken");
  CHECK(memory.text == "128.0 MiB of 64.0 GiB available; the control group may use 128.0 MiB");
  CHECK(contains(memory.advice, "docker --memory"));
  CHECK(found("files", [](auto& m) { m.files = 64; }).state == "slow");
  CHECK(found("files", [](auto& m) { m.files = 15; }).state == "broken");
  CHECK(contains(found("processes", [](auto& m) { m.user_tasks = 20; }).advice, "ulimit -u"));
  const Finding tasks = found("processes", [](auto& m) { m.tasks = {.left = 20, .limit = 512}; });
  CHECK(tasks.state == "broken");
  CHECK(contains(tasks.text, "20 of 512 of the control group are left"));
}

TEST_CASE("what GPUs lack is broken or slow") {
  const auto with = [](const std::string& name, const std::function<void(Machine&)>& change) {
    return found(name, change, machine_with_gpus());
  };
  CHECK(with("GPU 1", nothing).text == "A GPU, 80.0 GiB");
  CHECK(with("NCCL", nothing).text == "2.27.5");
  const Finding old = with("driver", [](auto& m) { m.gpus.facts.cuda = 12080; });
  CHECK(old.state == "broken");
  CHECK(old.text == "runs up to CUDA 12.8; LibTorch has CUDA 13.0");
  CHECK(with("NCCL", [](auto& m) { m.library.facts.gpu_error = "libddp_nccl.so: missing"; }).state == "broken");
  const Finding apart = with("links", [](auto& m) { m.gpus.facts.apart = {"0 and 1"}; });
  CHECK(apart.state == "slow");
  CHECK(contains(apart.text, "GPUs 0 and 1 do not reach"));
  CHECK(with("/dev/shm", [](auto& m) { m.shm_free = 64 << 20; }).state == "slow");
  CHECK(with("/dev/shm", [](auto& m) { m.shm_free.reset(); }).state == "broken");
  CHECK(found("/dev/shm", [](auto& m) { m.shm_free.reset(); }).state == "fact");
  for (const auto& [error, state] : {std::pair{launch::kNoDriverLibrary, "broken"}, {100, "slow"}, {803, "broken"}}) {
    const auto fails = [error = error](auto& m) { m.gpus.facts = {.exists = true, .error = error}; };
    CHECK(with("GPUs", fails).state == state);
  }
  CHECK(with("GPUs", [](auto& m) { m.gpus = {.late = true}; }).state == "slow");
}

TEST_CASE("a results folder that hangs, is full, read-only or of a network says so") {
  CHECK(found("results", [](auto& m) { m.folder = {.late = true}; }).state == "broken");
  const Finding closed = found("results", [](auto& m) { m.folder.facts.not_written = "cannot be written: Read-only"; });
  CHECK(closed.state == "broken");
  CHECK(closed.text == "results on ext4, cannot be written: Read-only");
  CHECK(found("results", [](auto& m) { m.folder.facts.exists = false; }).text ==
        "results, not made yet; /home/me/results on ext4");
  CHECK(contains(found("results", [](auto& m) { m.folder.facts.type = "nfs4"; }).text, "this machine only"));
  CHECK(found("space", [](auto& m) { m.folder.facts.free = kGiB; }).state == "slow");
  CHECK(found("space", [](auto& m) { m.folder.facts.free = 0; }).state == "broken");
  CHECK(found("Slurm", [](auto& m) { m.slurm_job = "7\033[31m"; }).text ==
        "job 7?[31m; neither sbatch nor srun is there");
}

TEST_CASE("a LibTorch that does not load is broken, and one that loads for long is slow") {
  const Finding broken = found(
      "LibTorch", [](auto& m) { m.library = {.error = "libtorch_cpu.so cannot be loaded", .remedy = "install it"}; });
  CHECK(broken.state == "broken");
  CHECK(broken.advice == "install it");
  CHECK(found("LibTorch", [](auto& m) { m.library.error = "loading LibTorch ended by signal 11"; }).state == "broken");
  CHECK(found("LibTorch", [](auto& m) { m.library.facts.seconds = 1.5; }).state == "slow");
  CHECK(found("LibTorch", [](auto& m) { m.library = {.late = true}; }).state == "slow");
}

TEST_CASE("no line of the page is longer than the terminal, and colour is on the states alone") {
  Machine m = machine_with_gpus();
  m.folder.facts.not_written = "cannot be written: Read-only file system";
  m.results = std::string(300, 'x') + "/文字文字文字文字文字文字文字文字文字文字文字文字文字文字文字文字文字文字文字";
  m.usable_cores = m.cores.allowed = 1;
  for (const std::size_t width : {40, 80, 200}) {
    std::ostringstream plain;
    print_findings(judge(m), plain, {.width = width});
    for (const std::string& line : lines_of(plain.str())) CHECK(report::text_width(line) <= width);
    CHECK(contains(plain.str(), "1 slow, 1 broken\n"));
    std::ostringstream coloured;
    print_findings(judge(m), coloured, {.width = width, .colour = true});
    CHECK(contains(coloured.str(), "\033[31mbroken\033[0m  results"));
    CHECK_FALSE(contains(plain.str(), "\033"));
  }
}

}  // namespace ddp::commands
