
#include "array_files.h"
#include "catch.h"
#include "tables.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// The data of the page that `plan FILE --preview` writes.
Json previewed(const Workspace& w, const std::string& file, const Words& sets = {}) {
  const Words arguments = with_sets({"plan", file, "--preview", "page.html"}, sets);
  const Outcome outcome = w.done(arguments);
  CHECK(contains(outcome.out, "page.html"));
  const std::string page = text_of(w.folder() / "page.html");
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::int64_t sum_of(const Json& bins) {
  std::int64_t sum = 0;
  for (const Json& bin : bins) sum += bin.get<std::int64_t>();
  return sum;
}

// All four rows train.
const std::string kPeople =
    "age,city,bought\n20,Rome,yes\n,<script>alert(1)</script>,no\n40,Rome,no\n60,\"Oslo, N\",yes\n";
const std::string kOfPeople = R"(
dataset = { name = "csv", path = "people.csv", target = "bought", categories = ["city"], normalise = "minmax", missing = "mean" }
model = { name = "mlp", hidden = [4] }
loss = "cross_entropy"
device_pool = ["cpu"]
threads = 1
batch_size = 2
)";

}  // namespace

TEST_CASE("a preview shows the rows of a table before and after, histograms of training rows, and missing cells") {
  require_tables();
  const Workspace w("people.csv", kPeople);
  w.write("people.toml", kOfPeople);
  const Json page = previewed(w, "people.toml");
  const Json& preview = page.at("preview");
  CHECK(preview.at("rows").at("columns") == Json{"age", "city", "bought"});
  CHECK(preview.at("rows").at("before")[0] == Json{"20", "Rome", "yes"});
  CHECK(preview.at("rows").at("before")[1] == Json{nullptr, "<script>alert(1)</script>", "no"});
  CHECK(preview.at("rows").at("encoded") ==
        Json{"age", "city = <script>alert(1)</script>", "city = Oslo, N", "city = Rome", "bought"});
  CHECK(preview.at("rows").at("after")[0] == Json{"0", "0", "0", "1", "1"});
  CHECK(preview.at("rows").at("after")[1] == Json{"0.5", "1", "0", "0", "0"});  // the mean of 20, 40 and 60
  CHECK(preview.at("rows").at("set")[3] == "train");
  const Json& age = preview.at("histograms")[0];
  CHECK(age.at("missing") == 1);
  CHECK(age.at("least") == 20);
  CHECK(age.at("greatest") == 60);
  CHECK(age.at("bins").size() == 20);
  CHECK(age.at("bins")[0] == 1);
  CHECK(age.at("bins")[10] == 1);
  CHECK(age.at("bins")[19] == 1);
  CHECK(sum_of(age.at("bins")) == 3);
  CHECK(preview.at("histograms")[1].at("values")[0] == Json{{"value", "Rome"}, {"count", 2}});
  CHECK(page.at("data").at("sets")[0].at("class_counts") == Json{2, 2});
  CHECK_FALSE(contains(text_of(w.folder() / "page.html"), "<script>alert"));
}

TEST_CASE("a preview of held-out rows shows the set of each row, and counts none of them in histograms") {
  const ShapesWorkspace w;
  const Json preview = previewed(w, "shapes.toml", {"test.split=0.3"}).at("preview");
  std::map<std::string, int> rows;
  for (const Json& set : preview.at("rows").at("set")) ++rows[set];
  CHECK(rows["train"] + rows["validation"] + rows["test"] == 20);
  CHECK(rows["train"] < 20);
  CHECK(sum_of(preview.at("histograms")[0].at("bins")) == 203 - 40 - 60);
}

TEST_CASE("a preview of a table with a thousand columns stays small") {
  require_tables();
  const Workspace w;
  std::string head, row;
  for (int column = 0; column < 1500; ++column) {
    head += "column_" + std::to_string(column) + ",";
    row += std::to_string(column) + ".5,";
  }
  std::string csv = head + "bought\n";
  for (int i = 0; i < 30; ++i) csv += row + (i % 2 == 0 ? "yes\n" : "no\n");
  w.write("people.csv", csv);
  w.write("people.toml", kOfPeople);
  const Json page = previewed(w, "people.toml", {"dataset.categories=[]"});
  CHECK(page.at("preview").at("rows").at("before")[0].size() == 100);
  CHECK(page.at("preview").at("histograms").size() == 1000);
  CHECK(page.at("preview").at("histograms_left_out") == 501);
  CHECK(fs::file_size(w.folder() / "page.html") < 1'000'000);
  CHECK(contains(w.run({"plan", "people.toml", "--set", "dataset.categories=[]"}).out, "more"));
}

TEST_CASE("a preview draws arrays that are pictures, and histograms of their numbers") {
  const Workspace w;
  std::vector<std::uint8_t> pixels(20 * 6 * 5);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i % 256);
  w.write("x.npy", npy_of("|u1", "(20, 6, 5)", pixels));
  w.write("y.npy", npy_of<float>("<f4", "(20, 1)", std::vector<float>(20, 0.5f)));
  w.write("arrays.toml",
          "dataset = { name = \"npy\", inputs = \"x.npy\", targets = \"y.npy\", scale = 0.5 }\n"
          "model = { name = \"sequential\", layers = [{ type = \"Flatten\" }, { type = \"Linear\", in_features = 30, "
          "out_features = 1 }] }\nloss = \"mse\"\ndevice_pool = [\"cpu\"]\nthreads = 1\nbatch_size = 4\n");
  const Json preview = previewed(w, "arrays.toml").at("preview");
  REQUIRE(preview.at("images").size() == 16);
  const Json& first = preview.at("images")[0];
  CHECK(first.at("width") == 5);
  CHECK(first.at("height") == 6);
  CHECK(first.at("pixels").get<std::string>().substr(0, 8) == "00010203");
  CHECK(preview.at("samples").at("rows")[0][1] == "0.5");
  CHECK(preview.at("tensors")[0].at("greatest") == 127.5);
  CHECK(sum_of(preview.at("tensors")[0].at("bins")) == 600);
  CHECK(preview.at("tensors")[1].at("bins") == Json{20});  // a single number
}

TEST_CASE("a preview of a text shows the first samples token by token, and the most frequent tokens") {
  const Workspace w;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "abb\xC3\xA9\n";
  w.write("a.txt", text);
  w.write("text.toml",
          "dataset = { name = \"text\", path = \"a.txt\", block_size = 8, tokenizer = \"byte\" }\n"
          "model = { name = \"gpt\", n_layer = 1, n_head = 1, n_embd = 4 }\ndevice_pool = [\"cpu\"]\nthreads = 1\n"
          "batch_size = 4\n");
  const Json bytes = previewed(w, "text.toml").at("preview");
  CHECK(bytes.at("blocks")[0][0] == Json{{"id", 97}, {"text", "a"}});
  CHECK(bytes.at("blocks")[0][3].at("text") == "C3");  // part of a character
  CHECK(bytes.at("blocks")[1][0].at("text") == "b");   // the ninth byte
  CHECK(bytes.at("frequent")[0] == Json{{"id", 98}, {"text", "b"}, {"count", 200}});
  CHECK(bytes.at("counted") == 600);
  const Json characters = previewed(w, "text.toml", {"dataset.tokenizer=\"char\""}).at("preview");
  CHECK(characters.at("blocks")[0][3].at("text") == "é");
}

TEST_CASE("a page that cannot be written is refused by its name, and a sweep has no page") {
  const Workspace w("small.toml", kSmall);
  w.write(
      "swept.toml",
      kSmall +
          "[sweep]\nmethod = \"grid\"\nmetric = \"train_loss\"\n[sweep.parameters]\n\"optimizer.lr\" = [0.1, 0.2]\n");
  fs::create_directory(w.folder() / "taken.html");
  for (const auto& [file, page, said] :
       std::vector<std::array<std::string, 3>>{{"small.toml", "page.htm", "page.htm"},
                                               {"small.toml", "gone/page.html", "gone/page.html"},
                                               {"small.toml", "taken.html", "taken.html"},
                                               {"small.toml", "/proc/page.html", "/proc/page.html"},
                                               {"swept.toml", "page.html", "swept.toml"}}) {
    w.refused({"plan", file, "--preview", page}, {said});
  }
  CHECK_FALSE(fs::exists(w.folder() / "page.html"));
}

}  // namespace ddp::system_test
