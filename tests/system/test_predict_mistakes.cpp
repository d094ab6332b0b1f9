#include "catch.h"
#include "predicting.h"

// Wrong files and folders on the command line of predict, eval and export.
namespace ddp::system_test {
namespace fs = std::filesystem;

TEST_CASE("a mistyped input or folder is refused with the nearest one") {
  const Trained t;
  fs::create_directory(t.folder() / "data");
  t.write("data/strangers.csv", shapes_csv(5));
  t.check_fails(2, {"shape.csv"}, {"shape.csv: there is no such file", "did you mean \"shapes.csv\"?"});
  t.check_fails(2, {"data/stranger.csv"}, {"did you mean \"data/strangers.csv\"?"});
  check_predict_fails(t, 2, {"shapes.toml", "shapes.csv"}, {"did you mean \"shapes\"?"});
  check_predict_fails(t, 2, {"shapes.csv", "shapes"}, {"shapes.csv"});
  t.refused({"eval", "shapes", "--set", "dataset.path=shape.csv"}, {"there is no such file"});
}

TEST_CASE("an output is refused if its folder is missing, if it is a folder, and if its ending is unknown") {
  const Trained t;
  fs::create_directory(t.folder() / "answers");
  t.check_fails(2, {"shapes.csv", "-o", "no/such folder/x.csv"}, {"there is no such folder: "});
  t.check_fails(2, {"shapes.csv", "-o", "answers"}, {"answers: is a folder"});
  t.check_fails(2, {"shapes.csv", "-o", "answers.xlsx"}, {"use .csv, .npy or .parquet"});
  t.check_fails(2, {"shapes.csv", "-o", "shapes.csv"}, {"is an input"});
  t.predicted({"shapes.csv", "-o", "answers/predictions.csv"});
  for (const auto& [output, what] : std::vector<std::pair<std::string, std::string>>{
           {"no/x.safetensors", "there is no such folder: "}, {"answers", "is a folder"}, {"x.onnx", ".safetensors"}}) {
    t.refused({"export", "shapes", output}, {what});
  }
}

TEST_CASE("rows without a line of names, a folder and an image in the place of a table are refused by name") {
  const Trained t;
  t.write("rows.csv", "1,2,red,flat\n3,4,blue,tall\n");
  t.check_fails(2, {"rows.csv"}, {"rows.csv"});
  fs::create_directory(t.folder() / "data");
  t.write("data/a.csv", shapes_csv(5));
  t.write("data/b.csv", shapes_csv(5));
  t.check_fails(2, {"data"}, {"is a folder"});
  CHECK(lines_of(t.predicted({(t.folder() / "data/*.csv").string()})).size() == 11);
  t.write("1.png", "not read");
  t.check_fails(2, {"1.png"}, {"1.png"});
}

TEST_CASE("eval on other data warns of unknown categories with their number, as predict does") {
  const Trained t;
  t.write("new.csv", "width,height,colour,kind\n1,2,pink,flat\n1,2,red,flat\n1,2,pink,tall\n");
  const Outcome eval = t.done({"eval", "shapes", "--set", "dataset.path=new.csv"},
                              {"column \"colour\": 2 cells hold \"pink\", which the training rows do not have"});
  CHECK_FALSE(contains(t.run({"eval", "shapes"}).err, "which the training rows do not have"));
}

TEST_CASE("after training with missing = \"drop\" predict refuses an empty cell of a number and of a category") {
  const Trained t({"dataset.missing=drop"});
  t.write("number.csv", "width,height,colour\n1,2,red\n,2,red\n");
  t.write("category.csv", "width,height,colour\n1,2,red\n1,2,\n");
  t.check_fails(2, {"number.csv"}, {"number.csv:3: column \"width\": is missing"});
  t.check_fails(2, {"category.csv"}, {"category.csv:3: column \"colour\": is missing"});
  const Trained filled({"dataset.missing=zero"});
  filled.write("category.csv", "width,height,colour\n1,2,red\n1,2,\n");
  CHECK(lines_of(filled.predicted({"category.csv"})).size() == 3);
}

}  // namespace ddp::system_test
