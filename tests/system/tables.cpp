#include "tables.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "catch.h"

namespace ddp::system_test {
namespace fs = std::filesystem;

void require_tables() {
  if (fs::exists(fs::path(DDP_EXP).parent_path() / "libddp_tables.so")) return;
  std::puts("skipped: the build reads no tables");
  std::fflush(stdout);
  std::exit(77);
}

std::string shapes_csv(int rows, std::uint64_t seed) {
  const char* const colours[] = {"red", "green", "blue"};
  const char* const kinds[] = {"\"round, \"\"very\"\"\"", "flat", "tall"};
  std::string text = "width,height,colour,kind,weight\n";
  std::uint64_t state = seed;
  const auto draw = [&](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  for (int row = 0; row < rows; ++row) {
    const double width = static_cast<double>(draw(1000)) / 100;
    const double height = static_cast<double>(draw(1000)) / 100;
    const char* kind = kinds[width > height + 2 ? 1 : height > width + 2 ? 2 : 0];
    char line[160];
    std::snprintf(line, sizeof line, "%.2f,%.2f,%s,%s,%.3f\n", width, height, colours[draw(3)], kind, width * height);
    text += line;
  }
  return text;
}

RunFolder ShapesWorkspace::train(const std::vector<std::string>& sets) const {
  std::vector<std::string> arguments{"run", "shapes.toml"};
  for (const auto& set : sets) arguments.insert(arguments.end(), {"--set", set});
  const Outcome outcome = run(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return outcome.run;
}

void check_table_refused(const std::string& csv, const std::string& options, const std::vector<std::string>& words) {
  const ShapesWorkspace w;
  w.write("shapes.csv", csv);
  w.write("shapes.toml",
          "dataset = { name = \"csv\", path = \"shapes.csv\", " + options +
              " }\nmodel = { name = \"mlp\", hidden = [8] }\nbatch_size = 8\ndevice_pool = [\"cpu\"]\nthreads = 1\n");
  for (const std::string verb : {"plan", "run"}) {
    const Outcome outcome = w.run({verb, "shapes.toml"});
    INFO(csv.substr(0, 300) << "\n" << verb << ": " << outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    for (const auto& word : words) CHECK(contains(outcome.err, word));
    CHECK_FALSE(contains(outcome.err, "frame #"));
    CHECK_FALSE(outcome.left);
    CHECK_FALSE(std::filesystem::exists(w.results()));
  }
}

}  // namespace ddp::system_test
