#include "rank/request.h"

#include <optional>

#include "catch.h"
#include "config/components.h"
#include "rank/probe.h"
#include "rank/verbs.h"
#include "words.h"

namespace ddp::rank {

TEST_CASE("a request with an unknown verb is refused with the verb's name") {
  std::optional<Error> refusal;
  const Task nobody;
  const Request request{
      .verb = "juggle", .task = nobody, .refuse = [&](const Error& error) { refusal.emplace(error); }};
  CHECK(ddp_rank_serve(&request) == 1);
  REQUIRE(refusal);
  CHECK(refusal->exit_code() == 2);
  CHECK(contains(refusal->what(), "there is no verb \"juggle\""));
}

TEST_CASE("a rank that receives an unknown verb reports its failure and is not started again") {
  record::SharedProgress shared(1);
  const Task task{.progress = &shared, .logs_failure = false};
  const Request request{.verb = "juggle", .task = task};
  CHECK(ddp_rank_serve(&request) == 1);
  CHECK(shared.rank(0).failed);
  CHECK(shared.rank(0).no_restart);
  CHECK(contains(shared.rank(0).error, "there is no verb \"juggle\""));
}

TEST_CASE("a request with an option of the wrong type is refused") {
  std::optional<Error> refusal;
  const Task nobody;
  const Request request{
      .verb = ProbeRequest::kVerb, .options = {{"timed", "soon"}}, .task = nobody, .refuse = [&](const Error& error) {
        refusal.emplace(error);
      }};
  CHECK(ddp_rank_serve(&request) == 1);
  REQUIRE(refusal);
  CHECK(contains(refusal->what(), "timed"));
}

TEST_CASE("a verb's reply arrives as JSON") {
  config::Components components;
  const Task nobody;
  const Request request{.verb = ComponentsRequest::kVerb,
                        .task = nobody,
                        .reply = [&](const config::Value& reply) { components = config::Components::from_json(reply); },
                        .refuse = [](const Error&) {}};
  CHECK(ddp_rank_serve(&request) == 0);
  CHECK(components.find("model", "mlp") != nullptr);
  CHECK(components.find("scheduler", "constant") != nullptr);
}

TEST_CASE("requests and replies read back unchanged from JSON") {
  const Probe probe{.warnings = {"one", "two"}, .parameters = 7, .train_samples = 3, .step_seconds = 0.1};
  const auto same = config::read<Probe>(config::Value::parse(config::write(probe).dump()));
  CHECK(same.warnings == probe.warnings);
  CHECK(same.parameters == 7);
  CHECK(same.train_samples == 3);
  CHECK(same.step_seconds == 0.1);

  // A wrong value of a collective may be NaN.
  const CommRow row{.op = "reduce", .wrong = 1, .rank = 2, .expected = 0.5};
  const auto read = config::read<CommRow>(config::Value::parse(config::write(row).dump()));
  CHECK(read.op == "reduce");
  CHECK(read.rank == 2);
  CHECK(read.expected == 0.5);
  CHECK(read.got != read.got);
}

}  // namespace ddp::rank
