#pragma once

#include <string>

#include "struck.h"
#include "workspace.h"

namespace ddp::system_test {

// Ends the test as skipped if the build has no reader of tables (-DDDP_ARROW).
void require_tables();

// A CSV with the columns width, height, colour, kind (the class, which depends on the others) and weight. Rows differ
// by `seed`. Class names contain a comma and quotes, so they need quoting.
std::string shapes_csv(int rows, std::uint64_t seed = 1);

// Lines of the dataset digits: 64 pixels and the class, which takes each value in turn.
std::string digits_csv(int lines, int factor = 7);

// Classification of shapes.csv, 0.2 held out for validation: 2 ranks, batches of 8, 3 epochs with a save each.
inline const std::string kShapes = R"(
dataset = { name = "csv", path = "shapes.csv", target = "kind", categories = ["colour"], drop = ["weight"], normalise = "standard" }
model = { name = "mlp", hidden = [8], dropout = 0.25 }
loss = "cross_entropy"
optimizer = { name = "adam", lr = 0.01 }
device_pool = ["cpu", "cpu"]
batch_size = 8
threads = 1
epochs = 3
[validation]
split = 0.2
[checkpoint]
save_every = 1
keep_last = 100
)";

// Options of a dataset with the target y, which is a class or a number.
inline const std::string kClassOptions = "target = \"y\" }\nloss = { name = \"cross_entropy\"";
inline const std::string kNumberOptions = "target = \"y\" }\nloss = { name = \"mse\"";

// A workspace with shapes.csv of this many rows, and kShapes as shapes.toml.
struct ShapesWorkspace : Workspace {
  explicit ShapesWorkspace(int rows = 203) {
    require_tables();
    write("shapes.csv", shapes_csv(rows));
    write("shapes.toml", kShapes);
  }
  // Trains with these --set; must succeed.
  RunFolder train(const Words& sets = {}) const;
};

// Requires that plan and run refuse a table: exit 2, these words, no run. `options`: of the dataset; they may end with
// kClassOptions or kNumberOptions.
void check_table_refused(const std::string& csv, const std::string& options, const Words& words);

}  // namespace ddp::system_test
