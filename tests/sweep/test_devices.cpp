#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <string>

#include "catch.h"
#include "launch/plan/devices.h"
#include "sweep/devices.h"

namespace ddp::sweep {
namespace {

// GPUs that no machine has: only this test uses their locks.
std::vector<launch::Gpu> gpus(int count) {
  std::vector<launch::Gpu> list;
  for (int i = 0; i < count; ++i) {
    list.push_back({.name = "", .pci = "", .uuid = "test-" + std::to_string(getpid()) + "-" + std::to_string(i)});
  }
  return list;
}

void remove_locks(const std::vector<launch::Gpu>& list) {
  for (const auto& gpu : list) unlink(("/tmp/ddp-exp.devices/" + gpu.uuid).c_str());
}

}  // namespace

TEST_CASE("trials share the cores, and a trial that wants more than all cores gets all of them") {
  Devices devices({}, 4);
  auto two = devices.take({.entries = 2});
  REQUIRE(two);
  CHECK_FALSE(devices.take({.entries = 3}));
  auto other = devices.take({.entries = 2});
  REQUIRE(other);
  CHECK_FALSE(devices.take({.entries = 1}));
  devices.give_back(std::move(*two));
  CHECK_FALSE(devices.take({.entries = 9}));
  devices.give_back(std::move(*other));
  CHECK(devices.take({.entries = 9})->cores == 4);
}

TEST_CASE("a trial gets free GPUs, or the GPUs that it names, all or none") {
  const auto list = gpus(3);
  Devices devices(list, 1);
  auto second = devices.take({.entries = 1, .gpus = true, .named = {1}});
  REQUIRE(second);
  CHECK(second->gpus == std::vector<int>{1});
  CHECK_FALSE(devices.take({.entries = 1, .gpus = true, .named = {1}}));
  CHECK_FALSE(devices.take({.entries = 2, .gpus = true, .named = {0, 1}}));
  CHECK_FALSE(devices.take({.entries = 3, .gpus = true}));
  auto rest = devices.take({.entries = 2, .gpus = true});
  REQUIRE(rest);
  CHECK(rest->gpus == std::vector<int>{0, 2});
  devices.give_back(std::move(*second));
  CHECK(devices.take({.entries = 1, .gpus = true}));
  remove_locks(list);
}

TEST_CASE("a GPU that another command uses is free again when that command is dead") {
  const auto list = gpus(2);
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t other = fork();
  if (other == 0) {
    const FileDescriptor held = launch::lock_device(list[0].uuid);
    if (write(ready[1], held ? "y" : "n", 1) == 1) pause();
    _exit(0);
  }
  char answer = 0;
  REQUIRE(read(ready[0], &answer, 1) == 1);
  REQUIRE(answer == 'y');
  Devices devices(list, 1);
  CHECK_FALSE(devices.take({.entries = 2, .gpus = true}));
  CHECK(devices.take({.entries = 1, .gpus = true})->gpus == std::vector<int>{1});
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  CHECK(devices.take({.entries = 1, .gpus = true})->gpus == std::vector<int>{0});
  close(ready[0]);
  close(ready[1]);
  remove_locks(list);
}

}  // namespace ddp::sweep
