#include <set>

#include "catch.h"
#include "config/load/sweep.h"
#include "config/parts.h"
#include "errors.h"
#include "scratch.h"

namespace ddp::config {
namespace {

const std::string kBase = kModelAndDataset + "optimizer = { name = \"sgd\", lr = 0.1, momentum = 0.9 }\n";

Components with_methods() {
  Components components = sample_components();
  components.add("method", {.name = "grid", .doc = "all", .options = {}});
  components.add("method", {.name = "random",
                            .doc = "drawn",
                            .options = {{.name = "trials", .types = {Type::integer}, .default_value = 10}}});
  return components;
}

LoadedSweep sweep_of(const std::string& lines) {
  const Scratch scratch;
  scratch.write("x.toml", kBase + lines + "\n");
  return load_sweep("x.toml", {}, with_methods());
}

// Returns the error about the sweep, or, if the sweep is valid, about trials with the ends of all parameters.
std::string told_of_sweep(const std::string& lines) {
  return error_of([&] {
    const LoadedSweep loaded = sweep_of(lines);
    Mistakes mistakes;
    for (const double u : {0.0, 0.999999}) {
      Point point;
      for (const Parameter& parameter : loaded.sweep.parameters) point.push_back(parameter.at(u));
      loaded.trial(point, mistakes);
    }
    if (!mistakes.empty()) throw mistakes.error();
  });
}

}  // namespace

TEST_CASE("a sweep's mistakes are shown with their places, all at once") {
  CHECK(told_of_sweep("[sweep.parameters]\n\"optimizer.lr\" = [0.1, 0.01]") == "");
  check_parts(told_of_sweep("[sweep]\nmethod = \"gird\""), {"x.toml:5:10: \"sweep.method\""});
  CHECK_FALSE(contains(told_of_sweep("[sweep]\nmethod = \"gird\"\ntrials = 3"), "trials"));
  check_parts(told_of_sweep("[sweep]\nmethod = \"grid\""),
              {"[sweep.parameters] is missing", "\"optimizer.lr\" = [0.1, 0.01]"});
  const std::string one = "\n[sweep.parameters]\nbatch_size = [1]";
  check_parts(told_of_sweep("[sweep]\ntrials = 3" + one), {"x.toml:5:1: ", "grid", "\"trials\""});
  check_parts(told_of_sweep("[sweep]\nmetrik = \"val_loss\"" + one), {"\"metric\"?"});
  const std::string several = told_of_sweep("[sweep.parameters]\nbatchsize = [1, 2]\n\"optimizer.lr\" = [0.1, \"x\"]");
  check_parts(several, {"x.toml:5:1: ", "\"batchsize\"", "\"batch_size\"?", "x.toml:6:24: \"optimizer.lr\""});
  CHECK(count(several, "batchsize") == 2);  // once, and its line
}

TEST_CASE("the mistakes of [sweep] are reported together with all others of the file") {
  const auto told = [](const std::string& sweep) {
    return told_of_sweep("epochs = 0\nlos = \"mse\"\n[sweep]\n" + sweep);
  };
  const std::string parameters = "\n[sweep.parameters]\nbatch_size = [1, \"x\"]\n\"optimizer.lr\" = [1, -1]";
  for (const auto& [lines, own] : std::vector<std::pair<std::string, std::string>>{
           {"metrik = 1" + parameters, "\"metrik\""},
           {"method = \"gird\"" + parameters, "\"sweep.method\""},
           {"method = \"random\"\ntrials = \"many\"" + parameters, "\"sweep.trials\""},
           {"metric = \"val_loss\"" + parameters, "val_loss"},
           {parameters + "\nsteps = 4", "\"steps\" has one value"}}) {
    const std::string all = told(lines);
    INFO(all);
    for (const auto& part : {own.c_str(), "\"epochs\" must", "\"los\"", "\"batch_size\" must", "not -1"}) {
      CHECK(contains(all, part));
    }
  }
  CHECK(contains(told(""), "\"epochs\" must"));
}

TEST_CASE("the error of a range that --set made wrong names --set, not the file") {
  const Scratch scratch;
  scratch.write("x.toml", kModelAndDataset + "[sweep.parameters]\n\"optimizer.lr\" = { min = 0, max = 0.1 }\n");
  const auto told = [](const std::string& set) {
    return error_of([&] { load_sweep("x.toml", {set}, with_methods()); });
  };
  CHECK(told("sweep.parameters.\"optimizer.lr\".min=1").starts_with("--set 1: \"optimizer.lr\": min must be less"));
  CHECK(
      told("sweep.parameters={\"optimizer.lr\"={scale=\"log\"}}").starts_with("--set 1: \"optimizer.lr\": with scale"));
}

TEST_CASE("a parameter of a sweep is a list or a range of a known key") {
  for (const char* valid :
       {"optimizer.lr = { min = 1e-3, max = 1, scale = \"log\" }", "optimizer = { lr = [0.1], momentum = [0, 0.9] }"}) {
    CHECK(told_of_sweep(std::string("[sweep.parameters]\n") + valid) == "");
  }
  CHECK(told_of_sweep("clip.value = 1\n[sweep.parameters]\nclip.norm = [0.5, 1.0]") == "");
  for (const auto& [lines, parts] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"lr = [0.1, 0.2]", {"x.toml:5:1: unknown key \"lr\"", "\"optimizer.lr\"?"}},
           {"seed = { type = \"int\", min = 1, max = 2 }", {"min, max, step, scale"}},
           {"optimizer.lr = { low = 1, high = 2 }", {"without min and max"}},
           {"batch_size = 3", {"has one value"}},
           {"batch_size = []", {"has no values"}},
           {"batch_size = { min = 3 }", {"\"sweep.parameters.batch_size.max\""}},
           {"batch_size = { min = 3, max = 3 }", {"less than max"}},
           {"batch_size = { min = 1.2, max = 1.8 }", {"no integer"}},
           {"batch_size = { min = 1, max = 1e300 }", {"too wide"}},
           {"\"optimizer.lr\" = { min = -1e308, max = 1e308 }", {"too wide"}},
           {"\"optimizer.lr\" = { min = 0, max = 1, step = 1e-300 }", {"too wide"}},
           {"\"optimizer.lr\" = { min = 0, max = 3, scale = \"log\" }", {"above 0"}},
           {"\"optimizer.lr\" = { min = 0, max = 3, scale = \"logg\" }", {"\"log\"?"}},
           {"batch_size = { min = 0, max = 8 }", {"x.toml:5:14: \"batch_size\""}},
           {"batch_size = { min = 2, max = 9, step = 0 }", {"step must be an integer"}},
           {"batch_size = { min = 2, max = 9, step = 8 }", {"step must be an integer"}},
           {"batch_size = { min = 2, max = 9, step = 0.5 }", {"step must be an integer"}},
           {"batch_size = { min = 2.5, max = 9, step = 1 }", {"step must be an integer"}},
           {"batch_size = { min = 2, max = 9, step = 1, scale = \"log\" }", {"no step"}},
           {"name = [\"a\", \"b\"]", {"\"name\" cannot vary"}},
           {"sources = [[\"a.cpp\"], [\"b.cpp\"]]", {"\"sources\" cannot vary"}},
           {"batch_size = [1]\n\"batch_size\" = [2]", {"x.toml:6:"}},
           {"\"optimizer.lr\" = [1]\noptimizer = { lr = [2] }", {"given twice"}},
           {"clip.norm = [0.5, 1.0]\nclip.value = [0.1, 0.2]", {"\"clip.norm\" and \"clip.value\""}},
           {"steps = [1]\nepochs = [2]", {"\"epochs\" and \"steps\""}}}) {
    check_parts(told_of_sweep("[sweep.parameters]\n" + lines), parts);
  }
}

TEST_CASE(
    "a sweep's metric is the held-out loss if samples are held out, and its component defines which value is better") {
  const std::string in = "[sweep.parameters]\nbatch_size = [1]\n";
  CHECK(sweep_of(in).sweep.metric.name == "train_loss");
  CHECK(sweep_of("validation.split = 0.1\n" + in).sweep.metric.name == "val_loss");
  CHECK(sweep_of(in).sweep.goal() == std::string("min"));
  const std::string accuracy = "validation.split = 0.1\n[sweep]\nmetric = \"val_accuracy\"\n";
  CHECK(sweep_of(accuracy + in).sweep.goal() == std::string("max"));
  CHECK(sweep_of(accuracy + "goal = \"min\"\n" + in).sweep.goal() == std::string("min"));
  const std::string held_out = "metrics = [\"auroc\", \"error_rate\"]\nvalidation.split = 0.1\n[sweep]\nmetric = ";
  CHECK(sweep_of(held_out + "\"val_auroc\"\n" + in).sweep.metric.cost(0.75) == -0.75);
  CHECK(sweep_of(held_out + "\"val_error_rate\"\n" + in).sweep.metric.cost(0.75) == 0.75);
  CHECK(contains(told_of_sweep("[sweep]\nmetric = \"val_loss\"\n" + in), "needs held-out samples"));
  // No valid value is an empty string.
  for (const char* key : {"metric", "goal"}) {
    for (const char* value : {"\"\"", "\"wrong\""}) {
      const std::string mistake = told_of_sweep("[sweep]\n" + std::string(key) + " = " + value + "\n" + in);
      INFO(mistake);
      CHECK(contains(mistake, "must be one of \""));
      CHECK_FALSE(contains(mistake, "one of \"\""));
    }
  }
}

TEST_CASE("a trial has the values of its point in any order of the file") {
  for (const std::string order :
       {"optimizer.name = [\"adam\"]\noptimizer.lr = [0.5]", "optimizer.lr = [0.5]\noptimizer.name = [\"adam\"]",
        "optimizer = [\"adam\"]\n\"optimizer.lr\" = [0.5]", "\"optimizer.lr\" = [0.5]\noptimizer = [\"adam\"]"}) {
    const LoadedSweep loaded = sweep_of("[sweep.parameters]\n" + order);
    Point point;
    for (const Parameter& parameter : loaded.sweep.parameters) point.push_back(parameter.at(0));
    const Experiment trial = loaded.trial(point).experiment;
    CHECK(trial.optimizer.name == "adam");
    CHECK(trial.optimizer.options.at("lr") == 0.5);
    CHECK_FALSE(trial.optimizer.options.contains("momentum"));
  }
}

TEST_CASE("a range with steps has the values from min up to the last one that is not above max") {
  const LoadedSweep loaded = sweep_of(
      "[sweep.parameters]\n"
      "batch_size = { min = 2, max = 9, step = 3 }\n"
      "\"optimizer.momentum\" = { min = 0.1, max = 0.5, step = 0.1 }");
  const auto values = [](const Parameter& parameter) {
    std::vector<Value> all;
    for (int i = 0; i < 100; ++i) {
      const Value value = to_value(parameter.at(i / 100.0));
      if (all.empty() || all.back() != value) all.push_back(value);
      CHECK(parameter.number_of(value));
    }
    return all;
  };
  CHECK(values(loaded.sweep.parameters[0]) == std::vector<Value>{2, 5, 8});
  CHECK(values(loaded.sweep.parameters[1]) == std::vector<Value>{0.1, 0.2, 0.3, 0.4, 0.5});
}

TEST_CASE("values drawn from a range are in it, and are integers if the key takes integers") {
  const LoadedSweep loaded = sweep_of(
      "[sweep.parameters]\nbatch_size = { min = 2, max = 9, scale = \"log\" }\n"
      "\"optimizer.lr\" = { min = 0.001, max = 1, scale = \"log\" }\n\"optimizer.momentum\" = { min = 0, max = 1 }");
  std::set<std::int64_t> sizes;
  for (int i = 0; i < 1000; ++i) {
    const double u = i / 1000.0;
    sizes.insert(loaded.sweep.parameters[0].at(u).scalar.get<std::int64_t>());
    const double lr = loaded.sweep.parameters[1].at(u).scalar.get<double>();
    CHECK((lr >= 0.001 && lr <= 1));
  }
  CHECK(sizes == std::set<std::int64_t>{2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(loaded.sweep.parameters[1].at(0.5).scalar.get<double>() == 0.0316228);
  CHECK(loaded.sweep.parameters[2].at(0.25).scalar.get<double>() == 0.25);
}

TEST_CASE("the values of a range spread over it, however far apart or near its ends are") {
  const auto values = [](const std::string& range) {
    const LoadedSweep loaded = sweep_of("[sweep.parameters]\n\"optimizer.momentum\" = " + range);
    std::vector<double> all;
    for (const double u : {0.0, 0.25, 0.5, 0.75}) {
      all.push_back(loaded.sweep.parameters[0].at(u).scalar.get<double>());
    }
    return all;
  };
  CHECK(values("{ min = 1e-160, max = 1e160, scale = \"log\" }") == std::vector<double>{1e-160, 1e-80, 1, 1e80});
  CHECK(values("{ min = 1, max = 1.000004 }") == std::vector<double>{1, 1.000001, 1.000002, 1.000003});
  CHECK(values("{ min = 1000000, max = 1000003, step = 1 }") ==
        std::vector<double>{1000000, 1000001, 1000002, 1000003});
}

TEST_CASE("a sweep written as a file has the same trials, also from another folder") {
  const std::string sweep =
      "init_from = \"w/first.safetensors\"\nsave_every = 3\n[sweep]\nmethod = \"random\"\n[sweep.parameters]\n"
      "optimizer = [\"sgd\", \"adam\"]\nbatch_size = { min = 2, max = 64, scale = \"log\" }\n"
      "\"model.in_features\" = [3, 4]";
  const Scratch scratch;
  scratch.write("x.toml", kBase + sweep + "\n");
  const LoadedSweep first = load_sweep("x.toml", {"seed=7"}, with_methods());
  std::filesystem::create_directory("other");
  scratch.write("other/sweep.toml", first.to_toml());
  INFO(first.to_toml());
  const LoadedSweep second = load_sweep("other/sweep.toml", {}, with_methods());
  CHECK(second.name == "x");
  CHECK(second.to_toml() == first.to_toml());
  CHECK(second.sweep.method.options == first.sweep.method.options);
  for (const double u : {0.0, 0.3, 0.6, 0.9}) {
    Point a;
    Point b;
    for (const Parameter& parameter : first.sweep.parameters) a.push_back(parameter.at(u));
    for (const Parameter& parameter : second.sweep.parameters) b.push_back(parameter.at(u));
    CHECK(to_toml(first.trial(a).experiment) == to_toml(second.trial(b).experiment));
  }
}

TEST_CASE("weights that vary are the same files, also from another folder") {
  const Scratch scratch;
  scratch.write("x.toml", kBase + "[sweep.parameters]\ninit_from = [\"a.safetensors\", \"w/b.safetensors\"]\n");
  const LoadedSweep first = load_sweep("x.toml", {}, with_methods());
  std::filesystem::create_directory("other");
  scratch.write("other/sweep.toml", first.to_toml());
  const LoadedSweep second = load_sweep("other/sweep.toml", {}, with_methods());
  for (const double u : {0.2, 0.8}) {
    const std::string file = second.trial({second.sweep.parameters[0].at(u)}).experiment.init_from.path;
    CHECK(std::filesystem::path(file).is_absolute());
    CHECK(file == first.trial({first.sweep.parameters[0].at(u)}).experiment.init_from.path);
  }
}

}  // namespace ddp::config
