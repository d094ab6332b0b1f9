#include <unistd.h>
#include <cstdio>
#include <optional>

#include <ATen/ops/zeros.h>

#include "base/file_descriptor.h"
#include "catch.h"
#include "rank/predict.h"
#include "rank/predictions.h"
#include "rank/request.h"

namespace ddp::rank {
namespace {

// The blocks of a rank, without its end mark if the rank fails.
struct RankAnswers {
  std::vector<std::string> blocks;
  bool fails = false;
};

// Collects the answers of ranks as CSV. Returns the output, and whether the collecting succeeded.
struct Collected {
  explicit Collected(const std::vector<RankAnswers>& ranks) {
    CollectRequest collect;
    for (const RankAnswers& rank : ranks) {
      int ends[2];
      REQUIRE(pipe(ends) == 0);
      for (const std::string& block : rank.blocks) write_block(ends[1], block.data(), block.size());
      if (!rank.fails) end_blocks(ends[1]);
      close(ends[1]);
      collect.pipes.push_back(ends[0]);
    }
    std::FILE* file = std::tmpfile();
    REQUIRE(file != nullptr);
    collect.out = fileno(file);
    record::SharedProgress shared(1);
    const Task task{.progress = &shared, .logs_failure = false};
    const Request request{.verb = CollectRequest::kVerb, .options = config::write(collect), .task = task};
    succeeded = ddp_rank_serve(&request) == 0;
    char text[256];
    std::rewind(file);
    output.assign(text, std::fread(text, 1, sizeof text, file));
    std::fclose(file);
    for (const std::int64_t end : collect.pipes) close(static_cast<int>(end));
  }

  std::string output;
  bool succeeded = false;
};

}  // namespace

TEST_CASE("the blocks of ranks are written in turn, whether all ranks have some or not") {
  CHECK(Collected({{{"head ", "0 ", "3 "}}, {{"1 ", "4 "}}, {{"2 "}}}).output == "head 0 1 2 3 4 ");
  CHECK(Collected({{{"head ", "0 ", "2 "}}, {{"1 ", "3 "}}}).output == "head 0 1 2 3 ");
  CHECK(Collected({{{"head ", "0 "}}, {{}}, {{}}}).output == "head 0 ");
  CHECK(Collected({{{"head "}}, {{}}}).output == "head ");
  CHECK(Collected({{{"head ", "0 ", "1 "}}}).output == "head 0 1 ");
}

TEST_CASE("a rank that fails before its first rows leaves no output of the other ranks") {
  const Collected collected({{{"head ", "0 "}}, {.blocks = {}, .fails = true}});
  CHECK_FALSE(collected.succeeded);
  CHECK(collected.output.empty());
}

TEST_CASE("classes are numbers in a Parquet file only if that keeps their names") {
  const auto type_of = [](const std::vector<std::string>& classes) {
    const auto width = static_cast<std::int64_t>(classes.size());
    PredictionSchema schema;
    schema.kind = datasets::TargetKind::classes;
    schema.loss = "cross_entropy";
    schema.classes = classes;
    const auto head = config::Value::parse(Predictions(schema, Form::parquet, at::zeros({1, width})).head());
    return config::read_written<std::vector<format::OutputColumn>>(head).front().type;
  };
  CHECK(type_of({"-1", "100000"}) == format::OutputType::integer);
  CHECK(type_of({"0.5", "100000"}) == format::OutputType::float64);
  CHECK(type_of({"007", "7"}) == format::OutputType::text);
  CHECK(type_of({"0.50", "1"}) == format::OutputType::text);
  CHECK(type_of({"0.5", "9007199254740993"}) == format::OutputType::text);
  CHECK(type_of({"nan", "1"}) == format::OutputType::text);
}

}  // namespace ddp::rank
