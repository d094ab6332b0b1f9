#include "catch.h"
#include "scratch.h"

namespace ddp::config {
namespace {

struct Everything {
  bool boolean = true;
  std::int64_t integer = -3;
  double number = 0.5;
  std::string text = "a";
  std::vector<std::int64_t> integers = {1, 2};
  std::vector<double> numbers = {0.5};
  std::optional<std::int64_t> maybe_integer;
  std::optional<double> maybe_number;
  Value any = 3;
  Component component{.name = "sgd"};
  Loader section;
  void fields(Fields& f) {
    f({.name = "boolean"}, boolean);
    f({.name = "integer", .range = between(-5, 5)}, integer);
    f({.name = "number", .doc = "half"}, number);
    f({.name = "text", .choices = {"a", "b"}}, text);
    f({.name = "integers"}, integers);
    f({.name = "numbers", .length = 1}, numbers);
    f({.name = "maybe_integer"}, maybe_integer);
    f({.name = "maybe_number"}, maybe_number);
    f({.name = "any", .types = {Type::integer, Type::list}, .item = Type::integer}, any);
    f({.name = "component", .component_kind = "optimizer"}, component);
    f.section({.name = "section"}, section);
  }
};

}  // namespace

TEST_CASE("one list of fields describes, writes and reads a struct") {
  const std::vector<Option> options = describe<Everything>();
  REQUIRE(options.size() == 11);
  CHECK(options[0].types == std::vector{Type::boolean});
  CHECK(options[0].default_value == true);
  CHECK(options[4].item == Type::integer);
  CHECK(options[5].length == 1u);
  CHECK(options[6].default_value.is_null());
  CHECK(options[8].types == std::vector{Type::integer, Type::list});
  CHECK(options[9].default_value == "sgd");
  CHECK(options[10].section.size() == 10);

  Everything changed;
  changed.integer = 4;
  changed.numbers = {1e-300, 3};
  changed.maybe_number = 2;
  changed.any = Value::array({1, 2});
  changed.component = {.name = "adam", .options = {{"lr", 0.1}}};
  changed.section.workers = 9;
  const Value written = write(changed);
  CHECK_FALSE(written.contains("maybe_integer"));
  CHECK(written["component"] == Value{{"name", "adam"}, {"lr", 0.1}});
  CHECK(write(read<Everything>(written)) == written);
  CHECK(read<Everything>(Value{{"component", "adam"}}).component.name == "adam");
  CHECK(write(read<Everything>(Value::object())) == write(Everything()));
}

TEST_CASE("a value that does not fit its field is refused") {
  CHECK_THROWS_AS(read<Everything>(Value{{"integer", true}}), Error);
  CHECK_THROWS_AS(read<Everything>(Value{{"integer", 1.5}}), Error);
  CHECK_THROWS_AS(read<Everything>(Value{{"integers", {1, "x"}}}), Error);
  CHECK_THROWS_AS(read<Everything>(Value{{"section", 1}}), Error);
}

TEST_CASE("components become JSON and back without loss") {
  Components components = sample_components();
  components.add("model", {.name = "everything", .options = describe<Everything>()});
  const Value json = components.to_json();
  CHECK(json["version"] == 1);
  const Components back = Components::from_json(Value::parse(json.dump()));
  CHECK(back.to_json().dump() == json.dump());
  CHECK(back.find("dataset", "random_batch")->traits["needs"] == "steps");
  CHECK(back.find("model", "nothing") == nullptr);
  CHECK(back.of("nothing").empty());
  CHECK_THROWS_AS(components.add("model", {.name = "mlp", .options = {}}), Error);
  CHECK_THROWS_AS(Components::from_json(Value{{"version", 99}}), Error);
}

TEST_CASE("components hold every option with a default, and an integer becomes floating where a number is meant") {
  const Experiment e = load_text(R"(
dataset = "random_pairs"
optimizer = { lr = 1 }
[model]
name = "sequential"
layers = [ { type = "Conv2d", kernel_size = 3 } ]
)")
                           .experiment;
  CHECK(e.dataset.options == Value{{"size", 2048}});
  CHECK(e.optimizer.name == "sgd");
  CHECK(e.optimizer.options["lr"].is_number_float());
  CHECK(e.optimizer.options == Value{{"lr", 1.0}, {"momentum", 0.0}});
  CHECK(e.model.options["layers"][0] == Value{{"type", "Conv2d"}, {"kernel_size", 3}, {"bias", true}});
  CHECK(e.scheduler.name == "constant");
}

TEST_CASE("the loss fits the dataset's targets unless one is given") {
  CHECK(load_text(kModelAndDataset).experiment.loss.name == "mse");
  CHECK(load_text("model = \"linear\"\ndataset = \"digits\"\n").experiment.loss.name == "cross_entropy");
  CHECK(load_text(kModelAndDataset + "loss = \"cross_entropy\"\n").experiment.loss.name == "cross_entropy");
}

TEST_CASE("a file name is relative to the file that contains it, and in --set to the working directory") {
  const Scratch scratch;
  const std::string text = "model = \"linear\"\ndataset = { name = \"digits\", path = \"../data/d.csv\" }\n";
  scratch.write("experiments/base.toml", text);
  scratch.write("other/x.toml", "extends = \"../experiments/base.toml\"\n");
  const auto path = [](const Loaded& loaded) { return loaded.experiment.dataset.options["path"]; };
  CHECK(path(load("experiments/base.toml", {}, sample_components())) == (scratch.folder() / "data/d.csv").string());
  CHECK(path(load("other/x.toml", {}, sample_components())) == (scratch.folder() / "data/d.csv").string());
  CHECK(path(load("other/x.toml", {"dataset.path=d.csv"}, sample_components())) ==
        (scratch.folder() / "d.csv").string());
  CHECK(path(load("other/x.toml", {"dataset.path=/d.csv"}, sample_components())) == "/d.csv");
}

TEST_CASE("an experiment that is written and loaded again is the same") {
  const Scratch scratch;
  scratch.write("some.toml", R"(
dataset = { name = "digits", path = "d.csv" }
optimizer = { name = "adam", lr = 0.1, betas = [1e-300, 0.30000000000000004] }
device_pool = [[0, 1], [2, 3]]
seed = 9007199254740993
steps = 999999999
save_every = 3
distributed.bucket_cap_mb = 12.5
distributed.init_method = "file:///a \"b\" \\ \u007f\u0001é"
[model]
name = "sequential"
layers = [ { type = "Conv2d", kernel_size = [3, 5] }, { type = "ReLU" } ]
)");
  const Experiment e = load("some.toml", {}, sample_components()).experiment;
  scratch.write("elsewhere/config.toml", to_toml(e));
  const Experiment back = load("elsewhere/config.toml", {}, sample_components()).experiment;
  INFO(to_toml(e));
  CHECK(back.name == "some");
  CHECK(write(back).dump() == write(e).dump());
  CHECK(to_toml(back) == to_toml(e));
}

TEST_CASE("numbers are written such that they read back bit for bit") {
  for (const double lr : {5e-324, 1.7976931348623157e308, 0.1, 1e22, 1.0 / 3, 0.0, 123456789.0, 1e-7}) {
    Experiment e = load_text(kModelAndDataset).experiment;
    e.optimizer.options["lr"] = lr;
    CHECK(load_text(to_toml(e)).experiment.optimizer.options["lr"].get<double>() == lr);
  }
}

}  // namespace ddp::config
