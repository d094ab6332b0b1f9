#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "looking.h"
#include "tables.h"
#include "workspace.h"

namespace ddp::system_test {

// One rank, two and three.
extern const std::vector<std::string> kPools;

// The files of a folder, sorted, without the files in which the tests keep the program's output.
std::vector<std::string> visible_files(const std::filesystem::path& folder);

// Runs `ddp-exp predict` with these arguments, which must succeed. Returns its stdout.
std::string predicted(const Workspace& workspace, std::vector<std::string> arguments);

// Runs `ddp-exp predict`, which must end with this exit code and these words, and leave no new file.
void check_predict_fails(const Workspace& workspace, int code, std::vector<std::string> arguments,
                         const std::vector<std::string>& words);

// Runs `ddp-exp run FILE`, which must succeed.
RunFolder trained(const Workspace& workspace, const std::string& file);

// A trained model of shapes, and rows to predict.
struct Trained : ShapesWorkspace {
  explicit Trained(const std::vector<std::string>& sets = {}) { train(sets); }

  std::string predicted(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "shapes");
    return system_test::predicted(*this, arguments);
  }
  void check_fails(int code, std::vector<std::string> arguments, const std::vector<std::string>& words) const {
    arguments.insert(arguments.begin(), "shapes");
    check_predict_fails(*this, code, arguments, words);
  }
  // A file with this many copies of a thousand rows.
  std::string write_many(int thousands) const {
    const std::string rows = shapes_csv(1000, 5);
    const std::size_t head = rows.find('\n') + 1;
    std::string text = rows;
    for (int i = 1; i < thousands; ++i) text.append(rows, head);
    return write("many.csv", text);
  }
};

}  // namespace ddp::system_test
