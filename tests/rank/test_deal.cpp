#include <unistd.h>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "array_files.h"
#include "base/file_descriptor.h"
#include "catch.h"
#include "rank/predict.h"
#include "rank/request.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::rank {
namespace {

// A run on .npy files with two inputs: rows of 3 floats, and a whole number.
struct TwoInputs : ScratchFolder {
  TwoInputs() {
    experiment.dataset.name = "npy";
    experiment.dataset.options = {{"inputs", {"a.npy", "b.npy"}}, {"targets", "gone.npy"}};
    experiment.loss.name = "mse";
    experiment.threads = 1;
  }
  // Deals files to one rank; returns the blocks that it receives. The pipe holds all blocks at once.
  std::vector<std::string> dealt(const std::vector<std::string>& files) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    widen_pipe(ends[1]);
    record::SharedProgress shared(1);
    const DealRequest deal{.inputs = files, .files_of_row = 2, .pipes = {ends[1]}, .batch_size = 4};
    const Task task{.experiment = &experiment, .progress = &shared, .logs_failure = false};
    const Request request{.verb = DealRequest::kVerb, .options = config::write(deal), .task = task};
    error = ddp_rank_serve(&request) == 0 ? "" : shared.rank(0).error;
    close(ends[1]);
    std::vector<std::string> blocks;
    for (std::string block; error.empty() && read_block(ends[0], block);) blocks.push_back(block);
    close(ends[0]);
    return blocks;
  }

  config::Experiment experiment;
  std::string error;
};

}  // namespace

TEST_CASE("a model of several inputs receives a block of each in its order, and the rows of files follow each other") {
  TwoInputs t;
  const std::vector<float> a1{1, 2, 3, 4, 5, 6}, a2{7, 8, 9};
  const std::vector<std::int64_t> b1{10, 20}, b2{30};
  const auto blocks =
      t.dealt({t.write("a1.npy", npy_of("<f4", "(2, 3)", a1)), t.write("b1.npy", npy_of("<i8", "(2,)", b1)),
               t.write("a2.npy", npy_of("<f4", "(1, 3)", a2)), t.write("b2.npy", npy_of("<i8", "(1,)", b2))});
  INFO(t.error);
  REQUIRE(blocks.size() == 3);
  const auto rows = config::read_written<DealtRows>(config::Value::parse(blocks[0]));
  CHECK(contains(rows.file, "a1.npy"));
  CHECK(rows.block_rows == 4096);
  REQUIRE(rows.inputs.size() == 2);
  CHECK(rows.inputs[0].shape == std::vector<std::int64_t>{3});
  CHECK(rows.inputs[1].shape.empty());
  CHECK(rows.inputs[0].type != rows.inputs[1].type);
  CHECK(blocks[1] == bytes_of_numbers(a1) + bytes_of_numbers(a2));
  CHECK(blocks[2] == bytes_of_numbers(b1) + bytes_of_numbers(b2));
}

TEST_CASE("arrays that do not belong together are not dealt but named") {
  TwoInputs t;
  const std::string a = t.write("a.npy", npy_of("<f4", "(2, 3)", std::vector<float>(6)));
  const std::string b = t.write("b.npy", npy_of("<i8", "(2,)", std::vector<std::int64_t>(2)));
  const std::string wide = t.write("wide.npy", npy_of("<f4", "(2, 4)", std::vector<float>(8)));
  const std::string few = t.write("few.npy", npy_of("<i8", "(1,)", std::vector<std::int64_t>(1)));
  t.dealt({a, few});
  for (const char* word : {"a.npy", "few.npy", "1 rows"}) CHECK(contains(t.error, word));
  t.dealt({a, b, wide, b});
  for (const char* word : {"wide.npy", "[4]", "a.npy", "[3]"}) CHECK(contains(t.error, word));
  t.dealt({b, a, a, b});
  CHECK(contains(t.error, "Long"));
}

}  // namespace ddp::rank
