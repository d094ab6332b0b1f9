#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "catch.h"
#include "data/sets.h"

namespace ddp::data {

TEST_CASE("training, validation and test of a text are parts of one token sequence that is encoded once") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("ddp-parts-" + std::to_string(getpid()) + ".txt");
  std::ofstream(file) << std::string(1000, 'a') << std::string(1000, 'b');
  config::Experiment e;
  e.dataset = {.name = "text", .options = {{"path", file.string()}, {"block_size", 8}}};
  e.validation.split = 0.25;
  e.test.split = 0.1;
  const Sets sets = build_sets(e, 0, 1);
  std::filesystem::remove(file);
  const auto tokens_of = [](const Set& set) { return set.dataset->held().front().second; };
  const at::Tensor train = tokens_of(sets.train);
  CHECK(train.numel() == 1300);
  CHECK(tokens_of(sets.validation).numel() == 500);
  CHECK(tokens_of(sets.test).numel() == 200);
  for (const Set* set : {&sets.validation, &sets.test}) CHECK(tokens_of(*set).is_alias_of(train));
  CHECK(tokens_of(sets.validation).data_ptr() == static_cast<std::uint8_t*>(train.data_ptr()) + 1300);
}

}  // namespace ddp::data
