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

std::string digits_csv(int lines, int factor) {
  std::string text;
  for (int line = 0; line < lines; ++line) {
    for (int pixel = 0; pixel < 64; ++pixel) text += std::to_string((line * factor + pixel) % 17) + ",";
    text += std::to_string(line % 10) + "\n";
  }
  return text;
}

RunFolder ShapesWorkspace::train(const Words& sets) const { return done(with_sets({"run", "shapes.toml"}, sets)).run; }

void check_table_refused(const std::string& csv, const std::string& options, const Words& words) {
  const ShapesWorkspace w;
  w.write("shapes.csv", csv);
  w.write("shapes.toml",
          "dataset = { name = \"csv\", path = \"shapes.csv\", " + options +
              " }\nmodel = { name = \"mlp\", hidden = [8] }\nbatch_size = 8\ndevice_pool = [\"cpu\"]\nthreads = 1\n");
  for (const std::string verb : {"plan", "run"}) {
    INFO(csv.substr(0, 300));
    w.refused({verb, "shapes.toml"}, words);
    CHECK_FALSE(std::filesystem::exists(w.results()));
  }
}

}  // namespace ddp::system_test
