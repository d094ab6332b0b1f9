#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fstream>

#include "catch.h"
#include "format/table.h"
#include "tables/files.h"

namespace ddp {
namespace {

// Reads a file to its end in a separate process. Returns the MB that reading took at most, without the memory of the
// process before; -1 if it failed.
long megabytes_to_read(const std::filesystem::path& file, const format::TableOptions& options, std::int64_t rows) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t pid = fork();
  if (pid == 0) {
    long result = -1;
    try {
      std::ifstream status("/proc/self/statm");
      long pages = 0, resident = 0;
      status >> pages >> resident;
      const auto table = format::open_table(file, options);
      std::vector<format::WantedColumn> wanted;
      for (const auto& column : table->columns()) wanted.push_back({column.name});
      table->read(wanted);
      std::int64_t count = 0;
      for (format::TableChunk chunk; table->next(chunk);) count += chunk.rows;
      rusage used{};
      getrusage(RUSAGE_SELF, &used);
      if (count == rows) result = used.ru_maxrss / 1024 - resident * sysconf(_SC_PAGESIZE) / (1 << 20);
    } catch (...) {
    }
    _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  long result = -1;
  REQUIRE(read(ends[0], &result, sizeof result) == sizeof result);
  waitpid(pid, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  return result;
}

}  // namespace

TEST_CASE("A CSV of 200 MB is read within 300 MB of memory", "[slow]") {
  const TableFolder folder;
  std::string line;
  for (int i = 0; i < 20; ++i) line += (i > 0 ? ",0.12345678901234" : "0.12345678901234") + std::to_string(i % 10);
  const std::int64_t rows = 200'000'000 / static_cast<std::int64_t>(line.size() + 1);
  {
    std::ofstream out(folder.folder() / "t.csv");
    for (int i = 0; i < 20; ++i) out << (i > 0 ? "," : "") << i;
    out << "\n";
    for (std::int64_t r = 0; r < rows; ++r) out << line << "\n";
  }
  const long used = megabytes_to_read(folder.folder() / "t.csv", {}, rows);
  INFO(used);
  CHECK(used > 0);
  CHECK(used < 300);
}

}  // namespace ddp
