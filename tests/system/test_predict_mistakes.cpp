#include <cstdlib>

#include "catch.h"
#include "predicting.h"

// Wrong words on the command line of predict, eval and export: their order, files, folders.
namespace ddp::system_test {
namespace fs = std::filesystem;

TEST_CASE("a file in the place of the run is refused with the command in the right order") {
  const Trained t;
  check_predict_fails(t, 2, {"shapes.csv", "shapes"},
                      {"shapes.csv: is a file, and the first word of predict names a run",
                       "the run comes first: " DDP_EXP " predict shapes shapes.csv"});
  check_predict_fails(t, 2, {"shapes.csv", "shapes.csv"}, {"predict RUN shapes.csv"});
}

TEST_CASE("a mistyped input or folder is refused with the nearest one") {
  const Trained t;
  fs::create_directory(t.folder() / "data");
  t.write("data/strangers.csv", shapes_csv(5));
  t.check_fails(2, {"shape.csv"}, {"shape.csv: there is no such file", "did you mean \"shapes.csv\"?"});
  t.check_fails(2, {"data/stranger.csv"}, {"did you mean \"data/strangers.csv\"?"});
  t.check_fails(2, {"dta/strangers.csv"}, {"did you mean \"data/strangers.csv\"?"});
  CHECK_FALSE(contains(t.run({"predict", "shapes", "dta/other.csv"}).err, "did you mean"));
  const Outcome eval = t.run({"eval", "shapes", "--set", "dataset.path=shape.csv"});
  CHECK(eval.code == 2);
  CHECK(contains(eval.err, "there is no such file"));
  CHECK(contains(eval.err, "did you mean \"" + (t.folder() / "shapes.csv").string() + "\"?"));
  const Outcome plan = t.run({"plan", "shapes.toml", "--set", "dataset.path=data/stranger.csv"});
  CHECK(contains(plan.err, "did you mean \"" + (t.folder() / "data/strangers.csv").string() + "\"?"));
}

TEST_CASE("an output in a folder that does not exist is refused with the command that makes it") {
  const Trained t;
  const std::string folder = t.folder() / "no/such folder";
  const std::string command = "mkdir -p '" + folder + "'";
  t.check_fails(2, {"shapes.csv", "-o", "no/such folder/x.csv"},
                {"there is no such folder: " + folder, "make it with: " + command});
  const Outcome exported = t.run({"export", "shapes", "no/such folder/x.safetensors"});
  CHECK(exported.code == 2);
  CHECK(contains(exported.err, command));
  REQUIRE(std::system(command.c_str()) == 0);
  t.predicted({"shapes.csv", "-o", "no/such folder/x.csv"});
}

TEST_CASE("rows without a line of names are refused by predict and eval with the line to begin them") {
  const Trained t;
  t.write("rows.csv", "1,2,red,flat\n3,4,blue,tall\n");
  const std::string begin =
      "the first line looks like data: begin the file with the line of names: width,height,colour";
  t.check_fails(2, {"rows.csv"}, {begin});
  const Outcome eval = t.run({"eval", "shapes", "--set", "dataset.path=rows.csv"});
  CHECK(contains(eval.err, begin + ",kind"));
  t.write("rows.csv", "width,height,colour,kind\n1,2,red,flat\n3,4,blue,tall\n");
  t.predicted({"rows.csv"});
}

TEST_CASE("a folder in the place of a table is refused with a pattern for its files") {
  const Trained t;
  fs::create_directory(t.folder() / "data");
  t.write("data/a.csv", shapes_csv(5));
  t.write("data/b.csv", shapes_csv(5));
  const std::string pattern = t.folder() / "data/*.csv";
  t.check_fails(2, {"data"}, {"is a folder, not a file", "name the files in it: '" + pattern + "'"});
  CHECK(lines_of(t.predicted({pattern})).size() == 11);
  const Outcome plan = t.run({"plan", "shapes.toml", "--set", "dataset.path=data"});
  CHECK(plan.code == 2);
  CHECK(contains(plan.err, pattern));
  CHECK(t.run({"plan", "shapes.toml", "--set", "dataset.path='" + pattern + "'"}).code == 0);
}

TEST_CASE("the pattern for a folder has an ending that tables have") {
  const Trained t;
  fs::create_directory(t.folder() / "data");
  for (const char* const name : {"data/readme.txt", "data/z.png.part", "data/.hidden.csv", "data/b.zip"}) {
    t.write(name, "no table");
  }
  t.check_fails(2, {"data"}, {"give a file; this folder holds none that ends in .csv, .tsv, "});
  CHECK_FALSE(contains(t.run({"predict", "shapes", "data"}).err, "*"));
  t.write("data/a.tsv", shapes_csv(5));
  t.write("data/b.csv", shapes_csv(5));
  t.write("data/c.csv", shapes_csv(5));
  t.check_fails(2, {"data"}, {"name the files in it: '" + (t.folder() / "data/*.csv").string() + "'"});
}

TEST_CASE("columns that a table lacks are named once each") {
  const Trained t;
  t.write("new.csv", "heigh,x\n1,2\n");
  const std::string answer = t.run({"predict", "shapes", "new.csv"}).err;
  INFO(answer);
  CHECK(contains(answer, "has no columns \"width\", \"height\", \"colour\"\n"));
  CHECK(contains(answer, "its columns: \"heigh\", \"x\"; rename \"heigh\" if"));
}

TEST_CASE("eval on other data warns of unknown categories with their number, as predict does") {
  const Trained t;
  t.write("new.csv", "width,height,colour,kind\n1,2,pink,flat\n1,2,red,flat\n1,2,pink,tall\n");
  const Outcome eval = t.run({"eval", "shapes", "--set", "dataset.path=new.csv"});
  INFO(eval.err);
  CHECK(eval.code == 0);
  CHECK(contains(eval.err, "column \"colour\": 2 cells hold \"pink\", which the training rows do not have"));
  CHECK_FALSE(contains(t.run({"eval", "shapes"}).err, "which the training rows do not have"));
}

TEST_CASE("after training with missing = \"drop\" predict refuses an empty cell of a number and of a category") {
  const Trained t({"dataset.missing=drop"});
  t.write("number.csv", "width,height,colour\n1,2,red\n,2,red\n");
  t.write("category.csv", "width,height,colour\n1,2,red\n1,2,\n");
  t.check_fails(2, {"number.csv"}, {"number.csv:3: column \"width\": is missing", "remove their rows"});
  t.check_fails(2, {"category.csv"}, {"category.csv:3: column \"colour\": is missing", "remove their rows"});
  const Trained filled({"dataset.missing=zero"});
  filled.write("category.csv", "width,height,colour\n1,2,red\n1,2,\n");
  CHECK(lines_of(filled.predicted({"category.csv"})).size() == 3);
}

TEST_CASE("an output that is a folder is refused with a file in it, and an unknown ending with the endings") {
  const Trained t;
  fs::create_directory(t.folder() / "answers");
  t.check_fails(2, {"shapes.csv", "-o", "answers"}, {"answers: is a folder", "answers/predictions.csv"});
  t.predicted({"shapes.csv", "-o", "answers/predictions.csv"});
  const Outcome folder = t.run({"export", "shapes", "answers"});
  CHECK(contains(folder.err, "give a file in it: answers/weights.safetensors"));
  const Outcome onnx = t.run({"export", "shapes", "weights.onnx"});
  CHECK(onnx.code == 2);
  CHECK(contains(onnx.err, "use .safetensors, which Python reads with safetensors.torch.load_file"));
  t.check_fails(2, {"-"}, {"predict reads files, not its standard input"});
  t.check_fails(2, {"shapes.toml"}, {"shapes.toml"});
  check_predict_fails(t, 2, {"shapes.toml", "shapes.csv"}, {"did you mean \"shapes\"?"});
}

TEST_CASE("images as rows of a model of tables are refused by name") {
  const Trained t;
  fs::create_directories(t.folder() / "pictures/cat");
  t.write("pictures/cat/1.png", "not read");
  t.check_fails(2, {"pictures"}, {"pictures: is a folder of images", "the model was trained on tables"});
  t.check_fails(2, {"pictures/cat/1.png"}, {"pictures/cat/1.png: is an image", "the model was trained on tables"});
}

TEST_CASE("another delimiter is answered with the setting of the command line, which reads the file") {
  const Trained t;
  t.write("semicolons.csv", "width;height;colour\n1;2;red\n");
  t.check_fails(2, {"semicolons.csv"}, {"--set 'dataset.delimiter=\";\"'"});
  CHECK(t.run({"predict", "shapes", "semicolons.csv", "--set", "dataset.delimiter=\";\""}).code == 0);
}

}  // namespace ddp::system_test
