#include "catch.h"
#include "looking.h"

namespace ddp::system_test {

TEST_CASE("a command in the remedy for a key of another program names this program as it was called") {
  const Workspace w;
  w.write("bad.toml", kTiny + "output_dir = \"out\"\n[distributed]\nnnodes = 2\n");
  const Outcome answer = w.run({"run", "bad.toml"}, {{"DDP_EXP_CALLED_AS", "scripts/ddp-exp"}});
  CHECK(contains(answer.err, "`scripts/ddp-exp run FILE --results FOLDER`"));
  CHECK(contains(answer.err, "`scripts/ddp-exp run FILE --nnodes 2"));
}

TEST_CASE("a suggested name works when it is pasted") {
  const Workspace w;
  const auto answer = [&](const std::string& name, const std::string& text) {
    w.write(name, text);
    const Outcome outcome = w.run({"validate", name});
    INFO(outcome.err);
    CHECK((outcome.code == 0) == outcome.err.empty());
    return outcome.err;
  };
  w.write("m/base.toml", kTiny);
  CHECK(contains(answer("m/x.toml", "extends = \"bse.toml\"\n"), "did you mean \"base.toml\"?"));
  CHECK(answer("m/x.toml", "extends = \"base.toml\"\n").empty());
  const std::string varied = answer("sweep.toml", kTiny + "[sweep.parameters]\n\"dataset.siz\" = [8, 16]\n");
  CHECK(contains(varied, "did you mean \"size\"?"));
  CHECK_FALSE(contains(varied, "keep one of them"));
  CHECK(answer("sweep.toml", kTiny + "[sweep.parameters]\n\"dataset.size\" = [8, 16]\n").empty());
  const std::string file = answer("file.toml", "dataset = \"../p.csv\"\noutput_features = \"y\"\nmodel = \"linear\"\n");
  CHECK_FALSE(contains(file, "name = \"../p.csv\""));
  CHECK(answer("name.toml", kTiny + "[validation]\ndataset = \"random_pairs\"\n").empty());
  CHECK(contains(answer("name.toml", kTiny + "[validation]\ndataset = \"random_pair\"\n"),
                 "there is no dataset \"random_pair\""));
}

TEST_CASE("validate refuses an init_method and first weights that run refuses") {
  const Workspace w;
  w.write("text.pth", "no weights at all");
  for (const auto& [line, what] : std::vector<std::pair<std::string, std::string>>{
           {"distributed.init_method = \"127.0.0.1:29500\"", "there is no init_method"},
           {"init_from = \"gone.pth\"", "there is no such file, and no such run: \"gone.pth\""},
           {"init_from = \"text.pth\"", "is no .safetensors file: "}}) {
    w.write("bad.toml", kTiny.substr(1) + line + "\n");
    const Outcome answer = w.run({"validate", "bad.toml"});
    INFO(answer.err);
    CHECK(answer.code == 2);
    CHECK(contains(answer.err, what));
    CHECK(contains(answer.err, "bad.toml:7:"));
  }
  w.write("good.toml", kTiny + "init_from = \"a_run\"\n");
  CHECK(w.run({"validate", "good.toml"}).code == 0);
}

}  // namespace ddp::system_test
