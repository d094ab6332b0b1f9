#pragma once

#include <filesystem>
#include <string>

#include "looking.h"
#include "tables.h"
#include "workspace.h"

namespace ddp::system_test {

// One rank, two and three.
extern const Words kPools;

// The files of a folder, sorted, without the files in which the tests keep the program's output.
Words visible_files(const std::filesystem::path& folder);

// Runs `ddp-exp predict` with these arguments, which must succeed. Returns its stdout.
std::string predicted(const Workspace& workspace, const Words& words);

// Runs `ddp-exp predict`, which must end with this exit code and these words, and leave no new file.
void check_predict_fails(const Workspace& workspace, int code, const Words& words, const Words& said);

// Runs `ddp-exp run FILE`, which must succeed.
RunFolder trained(const Workspace& workspace, const std::string& file);

// A trained model of shapes, and rows to predict.
struct Trained : ShapesWorkspace {
  explicit Trained(const Words& sets = {}) { train(sets); }

  std::string predicted(const Words& words) const { return system_test::predicted(*this, joined({"shapes"}, words)); }
  void check_fails(int code, const Words& words, const Words& said) const {
    check_predict_fails(*this, code, joined({"shapes"}, words), said);
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
