#include <cmath>

#include "arrays.h"
#include "catch.h"
#include "predicting.h"

namespace ddp::system_test {
namespace {

const std::string kClassesHead = "prediction,probability_0,probability_1,probability_2";
const std::string kNpyDataset = R"({ name = "npy", inputs = "x.npy", targets = "y.npy" })";
const std::string kNamedDataset =
    R"({ name = "safetensors", path = "train.safetensors", inputs = "x", targets = "y" })";

// x.npy, y.npy and train.safetensors with the same rows; a.toml and b.toml train on them.
struct ArraysWorkspace : Workspace {
  ArraysWorkspace() {
    write("x.npy", data.x_npy());
    write("y.npy", data.y_npy());
    write("train.safetensors", data.safetensors(true));
    write("a.toml", classes_of(kNpyDataset));
    write("b.toml", classes_of(kNamedDataset));
  }
  // Several blocks per rank, and a short one at the end.
  const ArrayData data{13001};
};

}  // namespace

TEST_CASE("predict reads arrays: one row per input in order, the same on any number of ranks and from any file",
          "[slow]") {
  const ArraysWorkspace w;
  w.write("other.safetensors", w.data.safetensors(false));  // without targets
  trained(w, "a.toml");
  trained(w, "b.toml");
  const std::string all = predicted(w, {"a", "x.npy"});
  const auto lines = lines_of(all);
  REQUIRE(lines.size() == 13002);
  CHECK(lines[0] == kClassesHead);
  std::size_t right = 0;
  for (std::size_t i = 0; i < w.data.y.size(); ++i)
    right += lines[i + 1].starts_with(std::to_string(w.data.y[i]) + ",");
  // With rows in another order a third of the predictions would be right by chance.
  CHECK(right > 10000);
  for (const std::string& pool : kPools) {
    INFO(pool);
    CHECK(predicted(w, {"a", "x.npy", "--set", pool}) == all);
    CHECK(predicted(w, {"b", "other.safetensors", "--set", pool}) == all);
    predicted(w, {"a", "x.npy", "-o", "out.npy", "--set", pool});
    const std::string npy = text_of(w.folder() / "out.npy");
    CHECK(npy.size() == 128 + 13001 * 3 * sizeof(float));
    CHECK(contains(npy.substr(0, 128), "'shape': (13001, 3)"));
  }
}

TEST_CASE("predict joins the rows of several files of arrays") {
  const ArraysWorkspace w;
  trained(w, "a.toml");
  // The files do not end at block boundaries.
  w.write("part-1.npy", ArrayData(5003, 2).x_npy());
  w.write("part-2.npy", ArrayData(5, 3).x_npy());
  ArrayData joined(5003, 2);
  for (const float number : ArrayData(5, 3).x) joined.x.push_back(number);
  joined.rows += 5;
  w.write("joined.npy", joined.x_npy());
  const std::string together = predicted(w, {"a", "joined.npy"});
  CHECK(lines_of(together).size() == 5009);
  CHECK(predicted(w, {"a", "part-1.npy", "part-2.npy"}) == together);
  CHECK(predicted(w, {"a", "part-*.npy"}) == together);
}

TEST_CASE("predict accepts array values that are not finite, and counts them and their rows") {
  const ArraysWorkspace w;
  trained(w, "a.toml");
  ArrayData odd(9000, 2);
  w.write("fine.npy", odd.x_npy());
  for (const std::size_t place : {8u, 9u, 35999u}) odd.x[place] = place == 9 ? INFINITY : NAN;
  w.write("odd.npy", odd.x_npy());
  const Outcome outcome = w.done({"predict", "a", "fine.npy", "odd.npy"});
  const auto lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 18001);
  CHECK(contains(lines[9003], "nan"));
  CHECK(contains(lines[18000], "nan"));
  CHECK_FALSE(contains(lines[9002], "nan"));
  const auto told = outcome.err.find("3 numbers");
  REQUIRE(told != std::string::npos);
  CHECK(outcome.err.find("not finite", told) != std::string::npos);
  CHECK(contains(outcome.err, "the outputs of 2 rows are not finite"));
  CHECK_FALSE(contains(w.run({"predict", "a", "fine.npy"}).err, "not finite"));
}

TEST_CASE("predict names columns of numbers after their target") {
  const Workspace w;
  const ArrayData data(50);
  w.write("x.npy", data.x_npy());
  w.write("height.npy", npy_of("<f4", "(50, 4)", data.x));
  w.write("one.npy", npy_of("<f4", "(50, 1)", std::vector<float>(data.x.begin(), data.x.begin() + 50)));
  const auto head = [&](const std::string& name, const std::string& target, int outputs, const std::string& loss) {
    w.write(name + ".toml",
            "dataset = { name = \"npy\", inputs = \"x.npy\", targets = \"" + target +
                "\" }\nmodel = { name = \"mlp\", in_features = 4, hidden = [3], out_features = " +
                std::to_string(outputs) + " }\nloss = \"" + loss +
                "\"\noptimizer = { name = \"sgd\", lr = 0.01 }\ndevice_pool = [\"cpu\"]\nbatch_size = 8\n"
                "threads = 1\nepochs = 1\n");
    trained(w, name + ".toml");
    return lines_of(predicted(w, {name, "x.npy"})).at(0);
  };
  CHECK(head("wide", "height.npy", 4, "mse") ==
        "prediction_height_0,prediction_height_1,prediction_height_2,prediction_height_3");
  CHECK(head("narrow", "one.npy", 1, "mse") == "prediction_one");
}

TEST_CASE("predict refuses arrays that do not fit the model with the names of both", "[slow]") {
  const ArraysWorkspace w;
  trained(w, "a.toml");
  trained(w, "b.toml");
  w.write("narrow.npy", npy_of("<f4", "(6, 3)", std::vector<float>(18)));
  w.write("wholes.npy", npy_of("<i8", "(6, 4)", std::vector<std::int64_t>(24)));
  w.write("names.safetensors", w.data.safetensors(true));
  for (const std::string& pool : kPools) {
    check_predict_fails(w, 2, {"a", "narrow.npy", "--set", pool, "-o", "out.npy"}, {"narrow.npy", "[3]"});
    check_predict_fails(w, 2, {"a", "x.npy", "narrow.npy", "--set", pool}, {"narrow.npy", "[3]", "x.npy", "[4]"});
  }
  check_predict_fails(w, 2, {"a", "wholes.npy"}, {"wholes.npy", "Long"});
  check_predict_fails(w, 2, {"a", "a.toml"}, {"a.toml"});
  check_predict_fails(w, 2, {"b", "x.npy"}, {"x.npy"});
  check_predict_fails(w, 2, {"a", "train.safetensors"}, {"train.safetensors"});
  check_predict_fails(w, 2, {"a", "none-*.npy"}, {"none-*.npy"});
}

TEST_CASE("predict reads another file of digits") {
  const Workspace w("mine.csv", digits_csv(50));
  w.write("digits.toml",
          "model = { name = \"mlp\", in_features = 64, hidden = [8], out_features = 10 }\n"
          "dataset = { name = \"digits\", path = \"mine.csv\" }\n"
          "device_pool = [\"cpu\"]\nbatch_size = 8\nthreads = 1\nepochs = 1\n");
  trained(w, "digits.toml");
  const std::string all = predicted(w, {"digits", "mine.csv"});
  CHECK(lines_of(all).size() == 51);
  CHECK(all.starts_with("prediction,probability_0,"));
  CHECK(predicted(w, {"digits", "mine.csv", "--set", kPools[2]}) == all);
}

TEST_CASE("predict refuses runs on texts and on drawn data, and names the alternative") {
  const Workspace w;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "a line of text\n";
  w.write("a.txt", text);
  w.write("text.toml",
          "dataset = { name = \"text\", path = \"a.txt\", block_size = 8 }\n"
          "model = { name = \"gpt\", n_layer = 1, n_head = 1, n_embd = 8 }\n"
          "optimizer = { name = \"adamw\", lr = 1e-3 }\ndevice_pool = [\"cpu\"]\nbatch_size = 4\nthreads = 1\n"
          "epochs = 1\n");
  w.write("drawn.toml", kSmall);
  trained(w, "text.toml");
  trained(w, "drawn.toml");
  check_predict_fails(w, 2, {"text", "a.txt", "-o", "out.csv"}, {"\"text\"", "generate", "eval"});
  check_predict_fails(w, 2, {"drawn", "a.txt"}, {"\"random_pairs\"", "tables, arrays, images and digits"});
}

}  // namespace ddp::system_test
