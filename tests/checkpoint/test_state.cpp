#include <cmath>
#include <random>

#include "base/error.h"
#include "catch.h"
#include "checkpoint/state.h"
#include "words.h"

namespace ddp::checkpoint {
namespace {

State sample_state() {
  State s;
  s.epoch = 3;
  s.position = 4;
  s.step = 77;
  s.world_size = 2;
  s.batch_size = 16;
  s.global_batch_size = 64;
  s.offset = 128;
  s.seen = 256;
  s.rng = {"AAAA", "BBBB"};
  s.gpu_rng = {{"CCCC", "DDDD"}, {"EEEE", "FFFF"}};
  s.buckets = {{1, 0}, {2}};
  s.seconds = 0.1;
  s.loss_sum = 1.0 / 3;
  s.loss_weight = 48.5;
  s.loss_samples = 64;
  s.judged_by = {.name = "val_auroc", .direction = config::Direction::greater};
  s.metric = 0.7;
  s.config_hash = "d27eb70a10e34130";
  s.data = {{.key = "dataset.path", .path = "/data/people.csv", .bytes = 12, .modified = 1700000000123456789}};
  s.files = {{"model.safetensors", {.bytes = 244, .hash = "18542210dc119f80"}}};
  return s;
}

}  // namespace

TEST_CASE("a state reads back from its text complete and with the same bits") {
  const State s = parse_state(to_text(sample_state()), "state.json");
  CHECK(s.epoch == 3);
  CHECK(s.position == 4);
  CHECK(s.step == 77);
  CHECK(s.world_size == 2);
  CHECK(s.batch_size == 16);
  CHECK(s.global_batch_size == 64);
  CHECK(s.offset == 128);
  CHECK(s.seen == 256);
  CHECK(s.rng == sample_state().rng);
  CHECK(s.gpu_rng == sample_state().gpu_rng);
  CHECK(s.buckets == sample_state().buckets);
  CHECK(s.loss_sum == 1.0 / 3);
  CHECK(s.loss_weight == 48.5);
  CHECK(s.metric == 0.7);
  CHECK(s.judged_by.name == "val_auroc");
  CHECK(s.judged_by.direction == config::Direction::greater);
  CHECK((s.files == sample_state().files));
  CHECK((s.data == sample_state().data));
  CHECK(to_text(s) == to_text(sample_state()));
}

TEST_CASE("the reason of a save reads back and a regular save writes none") {
  for (const auto reason : {record::SaveReason::regular, record::SaveReason::best, record::SaveReason::time}) {
    State s = sample_state();
    s.reason = reason;
    CHECK(parse_state(to_text(s), "state.json").reason == reason);
    CHECK((to_text(s).find("reason") == std::string::npos) == (reason == record::SaveReason::regular));
  }
}

TEST_CASE("a metric that was not measured reads back as not measured") {
  State s = sample_state();
  s.metric = std::nan("");
  CHECK(std::isnan(parse_state(to_text(s), "state.json").metric));
}

TEST_CASE("a state that is cut off or has flipped bits gives an error or a state but never a crash") {
  const std::string whole = to_text(sample_state());
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
    CHECK_THROWS_AS(parse_state(whole.substr(0, size), "state.json"), Error);
  }
  std::mt19937 random(3);
  for (int time = 0; time < 4000; ++time) {
    std::string text = whole;
    text[random() % text.size()] ^= static_cast<char>(1 << random() % 8);
    try {
      const State s = parse_state(text, "state.json");
      CHECK(s.step >= 0);
    } catch (const Error& error) {
      CHECK(contains(error.what(), "state.json"));
    }
  }
}

}  // namespace ddp::checkpoint
