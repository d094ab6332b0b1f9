#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/file_descriptor.h"
#include "catch.h"
#include "scratch_folder.h"
#include "tensorboard/event_log.h"
#include "tensorboard/events.h"

namespace ddp::tensorboard {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> records_of(const fs::path& file) {
  std::vector<std::string> found;
  RecordReader reader(file);
  while (const auto record = reader.next()) found.emplace_back(*record);
  return found;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string step_event(std::int64_t step) {
  std::string event;
  append_point(event, {.wall_time = 1, .step = step, .values = {0.5, 0.1, 100}});
  return event;
}

std::string epoch_event(std::int64_t epoch, std::int64_t step) {
  std::string event;
  append_point(event, {.kind = Point::Kind::epoch,
                       .wall_time = 1,
                       .step = step,
                       .values = {static_cast<double>(epoch)},
                       .metrics = {{"train_loss", 0.5}}});
  return event;
}

}  // namespace

TEST_CASE("the checksum is CRC-32C") {
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
}

TEST_CASE("records read back up to the first one that is cut off or damaged") {
  const ScratchFolder scratch;
  std::string text;
  std::vector<std::string> written = {"", "one", std::string(300'000, 'x'), std::string("\0\xff", 2)};
  for (int i = 0; i < 9; ++i) written.push_back(std::string(200'000, static_cast<char>('a' + i)));
  for (const auto& record : written) append_record(text, record);
  scratch.write("whole", text);
  CHECK(records_of(scratch.folder() / "whole") == written);
  const std::string first = [] {
    std::string t;
    append_record(t, "first");
    append_record(t, "second");
    return t;
  }();
  for (std::size_t length = 0; length < first.size(); ++length) {
    scratch.write("cut", first.substr(0, length));
    REQUIRE(records_of(scratch.folder() / "cut").size() == (length < 21 ? 0 : 1));
    std::string flipped = first;
    flipped[length] ^= 0x10;
    scratch.write("flipped", flipped);
    REQUIRE(records_of(scratch.folder() / "flipped").size() == (length < 21 ? 0 : 1));
  }
}

TEST_CASE("a record of endless length is not a record") {
  const ScratchFolder scratch;
  std::string record;
  append_record(record, "");
  const std::uint64_t length = std::numeric_limits<std::uint64_t>::max() - 2;
  const std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  // With a valid checksum.
  const std::uint32_t crc = crc32c(bytes);
  const std::uint32_t masked = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  scratch.write("file", bytes + std::string(reinterpret_cast<const char*>(&masked), sizeof masked) + record);
  CHECK(records_of(scratch.folder() / "file").empty());
}

TEST_CASE("a resumed run keeps its past events in one file behind the others, and drops the events that it repeats") {
  const ScratchFolder scratch;
  const fs::path folder = scratch.folder() / "tensorboard";
  const std::string far_ahead = "events.out.tfevents.8999999998.host.1.0";
  std::string before;
  append_beginning(before, 1);
  append_session_start(before, 1, {{"optimizer.lr", 0.1}});
  scratch.write(fs::path("tensorboard") / far_ahead, before + step_event(1) + step_event(2) + epoch_event(0, 2) +
                                                         step_event(3) + epoch_event(1, 3) + "torn");
  scratch.write("tensorboard/.next", "left by a process that was killed");
  const FileDescriptor file = begin_event_file(folder, "", 2, 1);
  CHECK(file);
  const auto files = files_in(folder);
  REQUIRE(files.size() == 2);
  // A TensorBoard that reads the old file must find its end there and then open the new one.
  CHECK(files[0].filename() == far_ahead);
  CHECK(scratch.read(files[0]).empty());
  CHECK(files[1].filename().string().starts_with("events.out.tfevents.8999999999."));
  CHECK(scratch.read(files[1]) == step_event(1) + step_event(2) + epoch_event(0, 2));
  // A run of a given number of steps writes a line for the epoch that its last step cuts short; a resume takes the line
  // back.
  begin_event_file(folder, "", 2, 0);
  CHECK(scratch.read(files_in(folder).back()) == step_event(1) + step_event(2));
}

TEST_CASE("files that are not event files stay and do not disturb") {
  const ScratchFolder scratch;
  scratch.write("notes.txt", "mine");
  scratch.write("events.out.tfevents.nonsense", "nonsense");
  begin_event_file(scratch.folder(), step_event(1), 0, 0);
  CHECK(scratch.read("notes.txt") == "mine");
  CHECK(files_in(scratch.folder()).size() == 3);
}

TEST_CASE("hyper-parameters are the components with their options, the seed, and values other than defaults") {
  config::Experiment e;
  e.name = "mine";
  e.model = {.name = "mlp", .options = {{"hidden", {64, 32}}, {"dropout", 0.5}}};
  e.optimizer = {.name = "sgd", .options = {{"lr", 0.1}, {"nesterov", true}}};
  e.batch_size = 16;
  e.loader.shuffle = false;
  CHECK(hyper_parameters(e) == config::Value{{"seed", 42},
                                             {"model", "mlp"},
                                             {"model.hidden", "[64,32]"},
                                             {"model.dropout", 0.5},
                                             {"optimizer", "sgd"},
                                             {"optimizer.lr", 0.1},
                                             {"optimizer.nesterov", true},
                                             {"scheduler", "constant"},
                                             {"batch_size", 16},
                                             {"loader.shuffle", false}});
}

}  // namespace ddp::tensorboard
