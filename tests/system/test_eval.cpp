#include "arrays.h"
#include "catch.h"
#include "predicting.h"
#include "tables.h"

namespace ddp::system_test {
namespace {

// The JSON output of eval.
Json evaluated(const Workspace& w, Words arguments) {
  arguments.insert(arguments.begin(), {"eval"});
  arguments.push_back("--json");
  const Outcome outcome = w.done(arguments);
  return Json::parse(outcome.out);
}

// The val_… or test_… metrics of a line of metrics.jsonl.
Json metrics_in(const Json& line, const std::string& prefix) {
  Json found = Json::object();
  for (const auto& [key, value] : line.items()) {
    if (key.starts_with(prefix)) found[key] = value;
  }
  return found;
}

}  // namespace

TEST_CASE("eval gives the numbers that training wrote, for any checkpoint, on any number of ranks", "[slow]") {
  const ShapesWorkspace w;
  const RunFolder run = w.train({"test.split=0.1"});
  const auto epochs = run.events("epoch");
  REQUIRE(epochs.size() == 3);
  const Json test = run.events("test").at(0);
  CHECK(run.summary().at("test").at("values") == metrics_in(test, "test_"));
  for (const std::string& pool : kPools) {
    INFO(pool);
    for (const Json& epoch : epochs) {
      const std::string step = epoch.at("step").dump();
      INFO("step " << step);
      const Json said = evaluated(w, {"shapes", "--from", step, "--set", pool});
      CHECK(said.at("step") == epoch.at("step"));
      CHECK(metrics_in(said.at("metrics"), "val_") == metrics_in(epoch, "val_"));
      if (epoch.at("step") == test.at("step")) {
        CHECK(metrics_in(said.at("metrics"), "test_") == metrics_in(test, "test_"));
      }
    }
    CHECK(evaluated(w, {"shapes", "--from", "latest", "--set", pool}).at("step") == epochs.back().at("step"));
    const Json best = evaluated(w, {"shapes", "--set", pool});
    CHECK(best.at("step") == test.at("step"));
    CHECK(metrics_in(best.at("metrics"), "test_") == metrics_in(test, "test_"));
    CHECK(best == evaluated(w, {"shapes", "--from", "best", "--set", pool}));
  }
}

TEST_CASE("eval measures over Gloo what training over Gloo wrote") {
  const ShapesWorkspace w;
  const RunFolder run = w.train({"backend=\"gloo\"", "epochs=1"});
  CHECK(metrics_in(evaluated(w, {"shapes"}).at("metrics"), "val_") == metrics_in(run.events("epoch").at(0), "val_"));
}

TEST_CASE("a validation measures rank 0's buffers, as eval and predict do, where ranks have their own") {
  const ShapesWorkspace w;
  const RunFolder run =
      w.train({"model={name=\"sequential\", layers=[{type=\"BatchNorm1d\", num_features=5}, "
               "{type=\"Linear\", in_features=5, out_features=3}]}",
               "distributed.broadcast_buffers=false", "epochs=2"});
  for (const Json& epoch : run.events("epoch")) {
    const Json said = evaluated(w, {"shapes", "--from", epoch.at("step").dump()});
    CHECK(metrics_in(said.at("metrics"), "val_") == metrics_in(epoch, "val_"));
  }
}

TEST_CASE("eval measures other data whole, prepared like the training data") {
  const ShapesWorkspace w;
  w.train();
  w.write("more.csv", shapes_csv(77, 9));
  const Json one = evaluated(w, {"shapes", "--set", "dataset.path=more.csv"});
  REQUIRE(one.at("metrics").contains("loss"));
  for (const std::string& pool : kPools) {
    CHECK(evaluated(w, {"shapes", "--set", "dataset.path=more.csv", "--set", pool}) == one);
  }
  // The same rows with other scales must not give the same loss: nothing is fitted again.
  std::string shifted = "width,height,colour,kind,weight\n";
  for (int row = 0; row < 77; ++row) shifted += "1000,2000,red,flat,1\n";
  w.write("shifted.csv", shifted);
  const double loss = evaluated(w, {"shapes", "--set", "dataset.path=shifted.csv"}).at("metrics").at("loss");
  CHECK(loss > 1);
  std::filesystem::remove(w.folder() / "shapes.csv");
  w.refused({"eval", "shapes"}, {"shapes.csv"});
}

TEST_CASE("eval measures other arrays, digits and texts whole, the same on any number of ranks", "[slow]") {
  const Workspace w;
  const auto measured = [&](const std::string& name, Words sets) {
    const Words arguments = with_sets({name}, sets);
    const Json one = evaluated(w, arguments);
    CHECK(one.at("metrics").contains("loss"));
    for (const std::string& pool : kPools) {
      INFO(name << " " << pool);
      const Words elsewhere = joined(arguments, {"--set", pool});
      CHECK(evaluated(w, elsewhere) == one);
    }
    return one.at("metrics").at("loss").get<double>();
  };
  const auto write_arrays = [&](const std::string& name, int rows, std::uint32_t seed) {
    const ArrayData data(rows, seed);
    w.write("x-" + name + ".npy", data.x_npy());
    w.write("y-" + name + ".npy", data.y_npy());
    w.write(name + ".safetensors", data.safetensors(true));
  };
  write_arrays("train", 101, 1);
  write_arrays("other", 45, 2);
  write_arrays("few", 3, 3);  // less than a batch, and less than the batches of three ranks
  w.write("npy.toml", classes_of(R"({ name = "npy", inputs = "x-train.npy", targets = "y-train.npy" })"));
  w.write("named.toml",
          classes_of(R"({ name = "safetensors", path = "train.safetensors", inputs = "x", targets = "y" })"));
  trained(w, "npy.toml");
  trained(w, "named.toml");
  for (const std::string name : {"other", "few"}) {
    const double loss = measured("npy", {"dataset.inputs=x-" + name + ".npy", "dataset.targets=y-" + name + ".npy"});
    CHECK(measured("named", {"dataset.path=" + name + ".safetensors"}) == loss);
  }

  w.write("digits.csv", digits_csv(60, 7));
  w.write("other.csv", digits_csv(33, 5));
  w.write("few.csv", digits_csv(1, 3));
  w.write("digits.toml",
          "model = { name = \"mlp\", in_features = 64, hidden = [8], out_features = 10 }\n"
          "dataset = { name = \"digits\", path = \"digits.csv\" }\n"
          "device_pool = [\"cpu\"]\nbatch_size = 8\nthreads = 1\nepochs = 1\n");
  trained(w, "digits.toml");
  CHECK(measured("digits", {"dataset.path=other.csv"}) != measured("digits", {"dataset.path=few.csv"}));

  const auto text = [](int lines) {
    std::string all;
    for (int i = 0; i < lines; ++i) all += "line " + std::to_string(i * i % 97) + " of the text\n";
    return all;
  };
  w.write("a.txt", text(100));
  w.write("b.txt", text(37));
  w.write("c.txt", text(1));  // one block
  w.write("text.toml",
          "dataset = { name = \"text\", path = \"a.txt\", block_size = 8 }\n"
          "model = { name = \"gpt\", n_layer = 1, n_head = 1, n_embd = 8 }\n"
          "optimizer = { name = \"adamw\", lr = 1e-3 }\ndevice_pool = [\"cpu\"]\nbatch_size = 4\nthreads = 1\n"
          "epochs = 1\n");
  trained(w, "text.toml");
  CHECK(measured("text", {"dataset.path=b.txt"}) != measured("text", {"dataset.path=c.txt"}));
}

TEST_CASE("eval refuses a request that it cannot measure") {
  const ShapesWorkspace w;
  w.train({"validation.split=0.0", "epochs=1"});
  w.refused({"eval", "shapes"}, {"--set dataset.path=FILE"});
  w.refused({"eval", "shapes", "--set", "dataset.path=none.csv"}, {"none.csv"});
  w.write("unknown.csv", "width,height,colour,kind,weight\n1,2,red,oval,3\n");
  w.refused({"eval", "shapes", "--set", "dataset.path=unknown.csv"}, {"\"oval\""});
  w.write("narrow.csv", "width,colour,kind,weight\n1,red,flat,3\n");
  w.refused({"eval", "shapes", "--set", "dataset.path=narrow.csv"}, {"\"height\""});
  w.write("new.csv", "width,height,colour\n1,2,red\n");
  w.refused({"eval", "shapes", "--set", "dataset.path=new.csv"}, {"has no column \"kind\""});
  w.refused({"eval", "shapes", "--from", "77", "--set", "dataset.path=shapes.csv"}, {"77"});
}

TEST_CASE("eval prints null for a metric that is not a number") {
  const ShapesWorkspace w;
  w.write("numbers.toml", kShapes);
  const Words regression{"loss=\"mse\"",
                         "dataset={name=\"csv\", path=\"shapes.csv\", target=\"weight\", drop=[\"kind\", \"colour\"]}",
                         "optimizer={name=\"sgd\", lr=1e30}", "on_nan=\"skip\"", "model.dropout=0.0"};
  const RunFolder run = w.train(regression);
  REQUIRE(run.events("epoch").back().at("val_loss").is_null());
  CHECK(evaluated(w, {"shapes", "--from", "latest"}).at("metrics").at("val_loss").is_null());
  const Outcome plain = w.done({"eval", "shapes", "--from", "latest"}, {"the checkpoint of step ", ", after epoch "});
  CHECK(contains(plain.out, "val_loss nan"));
}

TEST_CASE("eval, resume and fork warn of a split that holds out samples of the training") {
  const Workspace w("small.toml", kSmall);
  const std::string warning = "the model has trained on samples that are held out now";
  const auto answer = [&](Words words) {
    const Outcome outcome = w.done(std::move(words));
    return outcome.err;
  };
  w.done({"run", "small.toml", "--set", "validation.split=0.2"});
  CHECK_FALSE(contains(answer({"eval", "small"}), "warning: "));
  CHECK_FALSE(contains(answer({"eval", "small", "--set", "validation.split=0.1"}), "warning: "));
  const std::string larger = answer({"eval", "small", "--set", "validation.split=0.3"});
  CHECK(contains(larger, "warning: validation.split was 0.2, now 0.3: " + warning));

  CHECK(contains(answer({"eval", "small", "--set", "validation.seed=1"}), warning));
  CHECK_FALSE(contains(answer({"eval", "small", "--set", "dataset.size=50"}), "warning: "));
  CHECK(contains(answer({"eval", "small", "--set", "dataset.size=101"}), "the model has trained on them"));
  const std::string epochs = "epochs=5";
  CHECK_FALSE(contains(answer({"fork", "small", "--name", "other", "--set", epochs}), warning));
  CHECK(contains(answer({"fork", "small", "--name", "third", "--set", epochs, "--set", "test.split=0.1"}), warning));
  CHECK(contains(answer({"resume", "small", "--set", epochs, "--set", "validation.split=0.3"}), warning));
}

TEST_CASE("a config.toml that was edited changes nothing for eval and fork, and resume lists its changes") {
  const Workspace w("small.toml", kSmall);
  const auto answer = [&](Words words) {
    const Outcome outcome = w.done(std::move(words));
    return outcome;
  };
  const RunFolder run = answer({"run", "small.toml", "--set", "validation.split=0.2"}).run;
  const std::string measured = answer({"eval", "small", "--json"}).out;
  const std::string forked = answer({"fork", "small", "--name", "first", "--set", "epochs=5"}).run.model();
  std::string config = text_of(run.path() / "config.toml");
  const auto edit = [&](const std::string& from, const std::string& to) {
    const std::size_t at = config.find(from);
    REQUIRE(at != std::string::npos);
    config.replace(at, from.size(), to);
  };
  edit("\nseed = 0\nknown_rows", "\nseed = 7\nknown_rows");
  edit("\nlr = 0.", "\nlr = 0.0");
  edit("\nbatch_size = ", "\nbatch_size = 1");
  const std::filesystem::path file = std::filesystem::relative(run.path() / "config.toml", w.folder());
  w.write(file, config);
  CHECK(answer({"eval", "small", "--json"}).out == measured);
  CHECK(answer({"fork", "small", "--name", "second", "--set", "epochs=5"}).run.model() == forked);
  const std::string resumed = answer({"resume", "small", "--set", "epochs=5"}).err;
  for (const char* key : {"validation.seed was 0, now 7", "optimizer.lr was ", "batch_size was "}) {
    CHECK(contains(resumed, "changed: " + std::string(key)));
  }
  CHECK(contains(resumed, "the model has trained on samples that are held out now"));
  CHECK_FALSE(contains(answer({"resume", "small", "--set", "epochs=6"}).err, "changed: optimizer.lr"));
}

TEST_CASE("eval shows the matrix of the metric confusion, as lines and as JSON") {
  const ShapesWorkspace w;
  w.train({"epochs=1"});
  const Words confusion{"eval", "shapes", "--set", "metrics=[\"confusion\"]"};
  const Json matrix = evaluated(w, {"shapes", "--set", "metrics=[\"confusion\"]"}).at("metrics").at("val_confusion");
  std::int64_t samples = 0;
  for (const Json& row : matrix) {
    CHECK(row.size() == matrix.size());
    for (const Json& count : row) samples += count.get<std::int64_t>();
  }
  CHECK(samples == 40);
  const Outcome plain = w.done(confusion);
  CHECK(contains(plain.out, "val_confusion\nclass  predicted as"));
  CHECK(contains(plain.out, "\n0 flat"));
}

}  // namespace ddp::system_test
