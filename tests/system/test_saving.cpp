#include <cstring>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

const std::string kBig = R"(
model       = { name = "mlp", in_features = 8, hidden = [5000, 5000], out_features = 2 }
dataset     = { name = "random_batch", inputs = 8, targets = 2 }
batch_size  = 1
optimizer   = { name = "sgd", lr = 0.1, momentum = 0.9 }
loss        = "mse"
device_pool = ["cpu"]
)";

// The tensors of a safetensors file, without the header.
std::int64_t data_bytes(const fs::path& file) {
  const std::string text = text_of(file);
  std::uint64_t header = 0;
  REQUIRE(text.size() > sizeof header);
  std::memcpy(&header, text.data(), sizeof header);
  return static_cast<std::int64_t>(text.size() - sizeof header - header);
}

}  // namespace

TEST_CASE("plan reports the memory of saving, which equals the size of the saved data") {
  const Workspace w("small.toml", kSmall);
  const Outcome plan = w.done({"plan", "small.toml", "--json"});
  const Outcome run = w.done({"run", "small.toml"});
  const fs::path last = run.run.path() / "checkpoints/latest";
  CHECK(Json::parse(plan.out).at("snapshot_bytes") ==
        data_bytes(last / "model.safetensors") + data_bytes(last / "optimizer.safetensors"));
  CHECK(contains(w.run({"plan", "small.toml"}).out, "more on rank 0 for a checkpoint"));
}

TEST_CASE("plan counts an average of the weights in the memory of each rank and of saving") {
  const Workspace w("small.toml", kSmall);
  const auto planned = [&](const Words& sets) {
    const Words arguments = with_sets({"plan", "small.toml", "--json"}, sets);
    const Outcome plan = w.done(arguments);
    return Json::parse(plan.out);
  };
  const std::string average = "ema.decay=0.9";
  const std::string one = "device_pool=[\"cpu\"]";
  const auto parameters = planned({}).at("parameter_bytes").get<std::int64_t>();
  const auto more = [&](const Json& with, const Json& without, const char* key) {
    return with.at(key).get<std::int64_t>() - without.at(key).get<std::int64_t>();
  };
  CHECK(more(planned({average, one}), planned({one}), "bytes_per_rank") == parameters);
  CHECK(more(planned({average}), planned({}), "bytes_per_rank") == (parameters + 1) / 2 + parameters);
  const Outcome run = w.done({"run", "small.toml", "--set", average});
  CHECK(more(planned({average}), planned({}), "snapshot_bytes") ==
        data_bytes(run.run.path() / "checkpoints/latest/ema.safetensors"));
}

TEST_CASE("each checkpoint event has its step, its place and the time that training waited") {
  const Workspace w("small.toml", kSmall + "[checkpoint]\nsave_every_steps = 7\nkeep_last = 9\n");
  const Outcome run = w.done({"run", "small.toml"});
  const auto saved = run.run.events("checkpoint");
  REQUIRE(saved.size() == 4);
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const std::int64_t step = 7 * (static_cast<std::int64_t>(i) + 1);
    CHECK(saved[i].at("step") == step);
    CHECK(fs::exists(run.run.path() / saved[i].at("path").get<std::string>() / "COMPLETE"));
    CHECK(saved[i].at("stall").get<double>() >= 0);
    CHECK(saved[i].at("stall") <= saved[i].at("seconds"));
  }
}

TEST_CASE("a save without memory is reported and training continues; the run fails only if it is the last save") {
  const Workspace w;
  // 17 MB of parameters.
  w.write("big.toml", kBig + "[checkpoint]\nsave_every_steps = 2\n");
  const auto train = [&](int code, const char* id, const char* times, const Words& said) {
    return w.ends(code, {"run", "big.toml", "--run-id", id, "--set", "steps=6", "--set", "model.hidden=[2048, 2048]"},
                  said, {{"LD_PRELOAD", DDP_NO_MEMORY}, {"DDP_NO_MEMORY_TIMES", times}});
  };
  // The preparation of saves makes the first request, and the saves of steps 2 and 4 the next ones.
  const Outcome saved =
      train(0, "saved", "3",
            {"step 2 was not saved: no memory to save from", "step 4 was not saved: no memory to save from"});
  CHECK(saved.run.events("step").size() == 6);
  CHECK(fs::exists(saved.run.checkpoint(6) / "COMPLETE"));
  const Outcome lost =
      train(1, "lost", "1000", {"the last checkpoint, of step 6, was not saved: no memory to save from"});
  CHECK(lost.run.events("step").size() == 6);
  w.done({"resume", "big/lost"});
}

TEST_CASE("after a failed save of the best validation the best of the later ones is saved") {
  const Workspace w("big.toml", R"(
model       = { name = "mlp", in_features = 8, hidden = [2048, 2048], out_features = 2 }
dataset     = { name = "random_pairs", size = 40, features = 8, targets = 2 }
batch_size  = 8
epochs      = 3
optimizer   = { name = "sgd", lr = 0.1, momentum = 0.9 }
loss        = "mse"
device_pool = ["cpu"]
threads     = 1
validation  = { split = 0.2 }
)");
  const Outcome whole = w.done({"run", "big.toml"});
  // The second validation is worse than the first one.
  REQUIRE(whole.run.events("epoch").at(1).at("val_loss") > whole.run.events("epoch").at(0).at("val_loss"));
  REQUIRE(whole.run.events("checkpoint").front().at("step") == 4);
  REQUIRE(whole.run.events("checkpoint").size() == 2);
  // The preparation of saves gets no memory, and neither does the save of step 4.
  const Outcome failed = w.done({"run", "big.toml"}, {"step 4 was not saved"},
                                {{"LD_PRELOAD", DDP_NO_MEMORY}, {"DDP_NO_MEMORY_TIMES", "2"}});
  const Json saved = failed.run.events("checkpoint").front();
  CHECK(saved.at("step") == 8);
  CHECK(saved.at("reason") == "best");
}

TEST_CASE("a run reserves memory for saving only when a save is near") {
  const Workspace w("big.toml", kBig);
  // The first request for that memory fails.
  const auto train = [&](int code, const char* minutes, const Words& said) {
    return w.ends(code,
                  with_sets({"run", "big.toml"}, {"steps=6", "model.hidden=[2048, 2048]",
                                                  std::string("checkpoint.save_every_minutes=") + minutes}),
                  said, {{"LD_PRELOAD", DDP_NO_MEMORY}, {"DDP_NO_MEMORY_TIMES", "1"}});
  };
  // The last save makes this request.
  train(1, "10", {"the last checkpoint, of step 6, was not saved: no memory to save from"});
  // The preparation of the coming saves makes this request.
  CHECK_FALSE(contains(train(0, "0.00001", {}).err, "was not saved"));
}

TEST_CASE("a checkpoint holds the weights of its step although training continued during the copy", "[slow]") {
  // 200 MB, copied slowly by the copying thread: the optimizer of the next step runs before all is copied.
  const Workspace w("big.toml", kBig);
  const Outcome at_end = w.done({"run", "big.toml", "--set", "steps=2"});
  const Outcome on_the_way = w.done({"run", "big.toml", "--set", "steps=3", "--set", "checkpoint.save_every_steps=2"},
                                    {}, {{"LD_PRELOAD", DDP_SLOW_COPIES}});
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    CHECK((text_of(at_end.run.checkpoint(2) / file) == text_of(on_the_way.run.checkpoint(2) / file)));
  }
}

}  // namespace ddp::system_test
