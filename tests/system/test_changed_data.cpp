#include <chrono>
#include <fstream>

#include "arrays.h"
#include "catch.h"
#include "tables.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

void append(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::app) << text; }

// Sets the time one nanosecond later, without a change of content.
void touch(const fs::path& file) { fs::last_write_time(file, fs::last_write_time(file) + std::chrono::nanoseconds(1)); }

}  // namespace

TEST_CASE("data that changed before a resume is refused by name, and --data-changed accepts it") {
  const ShapesWorkspace w;
  w.train({"epochs=2"});
  const fs::path table = w.folder() / "shapes.csv";
  const std::string bytes = std::to_string(fs::file_size(table));
  append(table, "1.00,2.00,red,flat,2.000\n");
  w.refused({"resume", "shapes", "--set", "epochs=3"},
            {"shapes.csv: has " + std::to_string(fs::file_size(table)) + " bytes, but had " + bytes, "--data-changed"});
  w.done({"resume", "shapes", "--set", "epochs=3", "--data-changed"});
  // From now on the new state is the recorded one.
  w.done({"resume", "shapes", "--set", "epochs=4"});
  touch(table);
  w.refused({"resume", "shapes", "--set", "epochs=5"}, {"shapes.csv: was modified since ", "--data-changed\n"});
  // A run that has ended has nothing to do, with any change of its data.
  w.done({"resume", "shapes"});
}

TEST_CASE("a run that resumes with changed data keeps the classes, categories and means of its training") {
  const ShapesWorkspace w;
  const auto fitted = [](const RunFolder& run) {
    return text_of(run.path() / "checkpoints/latest/preprocessing.json");
  };
  const std::string before = fitted(w.train({"epochs=1"}));
  // A colour that sorts first, and numbers that change the means.
  for (int row = 0; row < 20; ++row) append(w.folder() / "shapes.csv", "900.0,700.0,amber,flat,2.000\n");
  const Outcome changed = w.done({"resume", "shapes", "--set", "epochs=2", "--data-changed"},
                                 {"which the training rows do not have: all columns of the category are 0"});
  CHECK(fitted(changed.run) == before);
  CHECK(fitted(w.done({"resume", "shapes", "--set", "epochs=3"}).run) == before);
  // New options of the data are obeyed: everything is fitted again, now with one more colour.
  w.refused({"resume", "shapes", "--set", "epochs=4", "--set", "dataset.normalise=minmax"},
            {"\"model.in_features\" is 5", "have 6"});
  append(w.folder() / "shapes.csv", "1.0,2.0,red,crooked,2.000\n");
  w.refused({"resume", "shapes", "--set", "epochs=5", "--data-changed"}, {"shapes.csv:", "\"crooked\""});
}

TEST_CASE("a data file that is gone or new, or that validation reads, is named before a resume") {
  const ShapesWorkspace w;
  for (const char* name : {"part-1.csv", "part-2.csv", "val.csv"}) w.write(name, shapes_csv(60, name[5]));
  w.train({R"(dataset.path="part-*.csv")", R"(validation={split=0, dataset={path="val.csv"}})", "epochs=1"});
  touch(w.folder() / "val.csv");
  fs::remove(w.folder() / "part-2.csv");
  w.write("part-3.csv", shapes_csv(60, 3));
  w.refused({"resume", "shapes", "--set", "epochs=2"},
            {"part-2.csv: is missing", "part-3.csv: is new", "val.csv: was modified since "});
}

TEST_CASE("data at a new path from --set is accepted, and other changed files are not") {
  const ShapesWorkspace w;
  w.write("val.csv", shapes_csv(60, 5));
  w.write("other.csv", shapes_csv(203, 2));
  w.train({R"(validation={split=0, dataset={path="val.csv"}})", "epochs=1"});
  touch(w.folder() / "val.csv");
  const Words other{"resume",   "shapes", "--set",
                    "epochs=2", "--set",  "dataset.path=\"" + (w.folder() / "other.csv").string() + "\""};
  w.refused(other, {"val.csv: was modified since "});
  fs::last_write_time(w.folder() / "val.csv",
                      fs::last_write_time(w.folder() / "val.csv") - std::chrono::nanoseconds(1));
  w.done(other);
  w.done({"resume", "shapes", "--set", "epochs=3"});
}

TEST_CASE("a run that resumed with changed data and was killed before it saved accepts the data again") {
  const ShapesWorkspace w;
  w.train({"epochs=1"});
  append(w.folder() / "shapes.csv", "1.00,2.00,red,flat,2.000\n");
  const auto process = w.start({"resume", "shapes", "--data-changed", "--set", "epochs=100000", "--set",
                                "checkpoint.save_every=0", "--set", "checkpoint.keep_best=0"});
  const RunFolder run = w.running(*process, "shapes", 40);
  process->kill();
  w.done({"resume", "shapes", "--set", "epochs=2"});
  CHECK(run.has_each_step_once(run.last_step()));
}

TEST_CASE("a resume or fork with new options of the data goes on with them after a kill before its first save",
          "[slow]") {
  const Words minmax{"--set", "dataset.normalise=minmax"};
  const Words endless{"--set", "epochs=100000", "--set", "checkpoint.save_every=0", "--set", "checkpoint.keep_best=0"};
  const ShapesWorkspace calm;
  calm.train({"epochs=1"});
  const std::string model = calm.done(joined({"resume", "shapes", "--set", "epochs=2"}, minmax)).run.model();
  const ShapesWorkspace w;
  w.train({"epochs=1"});
  const std::string measured = w.done({"eval", "shapes"}).out;
  const Words fork{"fork", "shapes", "--name", "other"};
  const Words resume{"resume", "shapes"};
  for (const auto& [begin, name] : {std::pair(fork, "other"), std::pair(resume, "shapes")}) {
    INFO(name);
    const auto process = w.start(joined(joined(begin, minmax), endless));
    w.running(*process, name, 40);
    process->kill();
    CHECK(w.done({"eval", name}).out == measured);
    const Outcome again = w.done({"resume", name, "--set", "epochs=2"}, {"changed: dataset.normalise"});
    CHECK(again.run.model() == model);
  }
}

TEST_CASE("the best checkpoint of a run whose data moved later is evaluated with the data at their new place") {
  const ShapesWorkspace w;
  w.train({"epochs=2"});
  fs::create_directory(w.folder() / "moved");
  fs::rename(w.folder() / "shapes.csv", w.folder() / "moved/my shapes.csv");
  // A higher lr, with which the first epochs stay the best.
  w.done({"resume", "shapes", "--set", "epochs=3", "--set", "optimizer.lr=10", "--set",
          "dataset.path=\"" + (w.folder() / "moved/my shapes.csv").string() + "\""});
  const Outcome best = w.done({"eval", "shapes"});
  CHECK_FALSE(contains(best.out, "after epoch 2:"));
  CHECK(contains(best.out, "val_loss"));
}

TEST_CASE(
    "a fork of changed data is refused by name, and accepted with --data-changed or with its own data to measure on") {
  const ShapesWorkspace w;
  w.train({"epochs=1"});
  w.write("other.csv", shapes_csv(203, 2));
  touch(w.folder() / "shapes.csv");
  w.refused({"fork", "shapes", "--name", "a", "--set", "epochs = 2"},
            {"shapes.csv: was modified since ", "--data-changed\n"});
  CHECK_FALSE(fs::exists(w.results() / "a"));
  w.done({"fork", "shapes", "--name", "a", "--set", "epochs=2", "--data-changed"});
  w.done({"resume", "a", "--set", "epochs=3"});
  const std::string other = "\"" + (w.folder() / "other.csv").string() + "\"";
  Words fork = {"fork", "shapes", "--name", "b", "--set", "epochs=2", "--set", "dataset.path=" + other};
  w.refused(fork, {"in another order", "validation.split=0"});
  for (const std::string& set : {std::string("validation.split=0"), "validation.dataset.path=" + other}) {
    fork.insert(fork.end(), {"--set", set});
  }
  w.done(fork);
  w.done({"resume", "b", "--set", "epochs=3"});
}

TEST_CASE("rows that were added before a resume keep the sets of the others, and other changes are refused") {
  const ShapesWorkspace w(120);
  const fs::path table = w.folder() / "shapes.csv";
  w.train({"epochs=1", "test={split=0.1}"});
  const fs::path run = w.results() / "shapes/latest";
  const auto sets = [&](const fs::path& settings) {
    w.done({"plan", settings.string(), "--sets", (w.folder() / "sets.csv").string()});
    return text_of(w.folder() / "sets.csv");
  };
  const std::string before = sets(run / "config.toml");
  const auto summary = [](const fs::path& of) { return Json::parse(text_of(of / "summary.json")); };
  const Json held_out = summary(run)["held_out"];

  w.write("more.csv", shapes_csv(40, 7));
  append(table, text_of(w.folder() / "more.csv").substr(text_of(w.folder() / "more.csv").find('\n') + 1));
  w.refused({"eval", "shapes"}, {"160 rows", "had 120"});
  w.done({"resume", "shapes", "--set", "epochs=2", "--data-changed"}, {"known_rows"});
  const std::string after = sets(run / "config.toml");
  CHECK(after.starts_with(before));
  CHECK(std::count(after.begin(), after.end(), '\n') == 161);
  CHECK(contains(after.substr(before.size()), "validation"));
  CHECK(contains(after.substr(before.size()), "test"));
  CHECK(summary(run)["held_out"] != held_out);
  CHECK(contains(w.done({"eval", "shapes"}).out, "val_loss"));

  // A correction moves no row; another order moves them all.
  std::string text = text_of(table);
  const std::string first = text.substr(0, text.find('\n') + 1);
  w.write("shapes.csv", first + "5.0,6.0,red,flat,2.000\n" + text.substr(text.find('\n', first.size()) + 1));
  w.done({"resume", "shapes", "--set", "epochs=3", "--data-changed"});
  CHECK(summary(run)["held_out"] != held_out);
  std::vector<std::string> lines;
  std::istringstream in(text.substr(first.size()));
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  text = first;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) text += *line;
  w.write("shapes.csv", text);
  w.refused({"resume", "shapes", "--set", "epochs=4", "--data-changed"}, {"in another order", "validation.split=0"});
}

TEST_CASE("ranks are not started again on arrays that changed, and the error names them") {
  const ArrayWorkspace w;
  const auto process = w.start({"run", "arrays.toml", "--max-restarts", "3", "--set", "epochs=1000000"});
  const RunFolder run = w.running(*process, "arrays", 12);
  REQUIRE(process->wait_for_ranks(2));
  touch(w.folder() / "y.npy");
  kill(process->ranks().at(1), SIGKILL);
  w.ends(1, *process, {"killed by SIGKILL", "y.npy: was modified since ", "--data-changed"});
  CHECK(run.summary().at("status") == "failed");
}

TEST_CASE("a sweep whose data changed is refused by name, and --data-changed accepts it") {
  const ShapesWorkspace w;
  w.write("s.toml", kShapes + "[sweep.parameters]\n\"optimizer.lr\" = [0.01, 0.001]\n");
  const auto process = w.start({"sweep", "s.toml", "--jobs", "1", "--run-id", "one", "--set", "epochs=1000000"});
  const RunFolder trial(w.results() / "s/one/trials/000");
  REQUIRE(wait_until([&] { return trial.last_step() > 40; }, process->pid()));
  process->signal(SIGINT);
  REQUIRE(process->wait() == 130);
  const auto resumed = [&](Words more) {
    more.insert(more.begin(), {"resume", "s/one"});
    return more;
  };
  touch(w.folder() / "shapes.csv");
  w.refused(resumed({"--jobs", "1"}), {"shapes.csv: was modified since ", "--data-changed\n"});
  w.refused({"sweep", "s.toml", "--run-id", "one", "--set", "epochs=1000000"}, {"--data-changed\n"});
  const std::int64_t before = trial.last_step();
  const auto again = w.start(resumed({"--data-changed"}));
  CHECK(wait_until([&] { return trial.last_step() > before + 20; }, again->pid()));
  again->signal(SIGINT);
  CHECK(again->wait() == 130);
}

TEST_CASE("a resume with another target is refused, also of a finished run") {
  const ShapesWorkspace w;
  const RunFolder run = w.train({"epochs=1"});
  const std::string config = text_of(run.path() / "config.toml");
  for (const char* epochs : {"epochs=1", "epochs=2"}) {
    w.refused({"resume", "shapes", "--set", "dataset.target=colour", "--set", epochs}, {"\"kind\", now \"colour\""});
  }
  CHECK(text_of(run.path() / "config.toml") == config);
}

TEST_CASE("a resume with data of other classes is refused, and warns of other categories, by their names") {
  const ShapesWorkspace w;
  w.train({"epochs=1"});
  const std::string table = text_of(w.folder() / "shapes.csv");
  const auto with_name = [&](const std::string& from, const std::string& to) {
    std::string other = table;
    for (std::size_t at = 0; (at = other.find(from, at)) != std::string::npos; at += to.size()) {
      other.replace(at, from.size(), to);
    }
    return other;
  };
  w.write("classes.csv", with_name("flat", "zigzag"));
  w.write("categories.csv", with_name("red", "zinc"));
  const auto resume = [&](const char* file) {
    return Words{"resume",   "shapes", "--set",
                 "epochs=2", "--set",  "dataset.path=\"" + (w.folder() / file).string() + "\""};
  };
  w.refused(resume("classes.csv"), {"classes that the training rows do not have, the first is \"zigzag\""});
  w.done(resume("categories.csv"), {"column \"colour\"", "which the training rows do not have"});
}

TEST_CASE("a resume with other data or another loss warns that best compares it with the values before") {
  const ShapesWorkspace w;
  w.train({"epochs=1"});
  const auto resumed = [&](const std::string& epochs, const std::string& set) {
    return w.done({"resume", "shapes", "--set", epochs, "--set", set}).err;
  };
  CHECK(contains(resumed("epochs=2", "dataset.missing=zero"), "on other data (dataset.missing has changed)"));
  CHECK(contains(resumed("epochs=3", "loss.label_smoothing=0.1"), "val_loss so far was measured with another loss"));
  CHECK_FALSE(contains(resumed("epochs=4", "optimizer.lr=0.001"), "the best val_loss so far"));
  // Other times of validation measure the same samples.
  CHECK_FALSE(contains(resumed("epochs=6", "validation.every=2"), "the best val_loss so far"));
  w.write("same.csv", text_of(w.folder() / "shapes.csv"));
  w.write("other.csv", text_of(w.folder() / "shapes.csv") + "1.00,2.00,red,flat,2.000\n");
  const auto at = [&](const char* name) { return "dataset.path=\"" + (w.folder() / name).string() + "\""; };
  CHECK_FALSE(contains(resumed("epochs=7", at("same.csv")), "the best val_loss so far"));
  CHECK(contains(resumed("epochs=8", at("other.csv")), "measured on other data (dataset.path has changed)"));
}

TEST_CASE("inside an epoch a new option of the dataset is refused at its place, and the same data elsewhere are not") {
  const ShapesWorkspace w;
  w.train({"steps=1"});
  w.refused({"resume", "shapes", "--set", "steps=2", "--set", "dataset.normalise=\"minmax\""},
            {"--set 2: the checkpoint is inside an epoch, and this would change the epoch's order of "
             "samples: dataset.normalise was \"standard\"",
             "leave this change out, or use the end of an epoch with --from"});
  fs::rename(w.folder() / "shapes.csv", w.folder() / "moved.csv");
  w.write("other.csv", shapes_csv(203, 2));
  w.refused({"resume", "shapes", "--set", "steps=2"}, {"name the place where it is now: --set dataset.path=…"});
  w.refused({"resume", "shapes", "--set", "steps=2", "--set", "dataset.path=other.csv"}, {"in another order"});
  w.write("more.csv", text_of(w.folder() / "moved.csv") + "1.00,2.00,red,flat,2.000\n");
  w.refused({"resume", "shapes", "--set", "steps=2", "--set", "dataset.path=more.csv"}, {"dataset.path was"});
  w.done({"resume", "shapes", "--set", "steps=2", "--set", "dataset.path=moved.csv"});
}

}  // namespace ddp::system_test
