#include "catch.h"
#include "looking.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// A mistake of users, and parts of the answer: the fault, its place, and the remedy.
struct UsersMistake {
  std::string line;  // after "ddp-exp"; words are separated by spaces
  std::string what;
  std::string where;
  std::string remedy;
  std::string file = "";  // appended to kTiny in bad.toml
};

const std::vector<UsersMistake> kMistakes = {
    // Commands of other programs, and no command.
    {"", "the command is missing", "", "commands: run"},
    {"train tiny.toml", "unknown command \"train\"", "", "here it is `ddp-exp run FILE`"},
    {"start tiny.toml", "unknown command \"start\"", "", "here it is `ddp-exp run FILE`"},
    {"test tiny", "unknown command \"test\"", "", "here it is `ddp-exp eval RUN`"},
    {"evaluate tiny", "unknown command \"evaluate\"", "", "here it is `ddp-exp eval RUN`"},
    {"ls", "unknown command \"ls\"", "", "here it is `ddp-exp list`"},
    {"status tiny", "unknown command \"status\"", "", "here it is `ddp-exp list`"},
    {"stop tiny", "unknown command \"stop\"", "", "press ^C in its terminal"},
    {"rm tiny", "unknown command \"rm\"", "", "`rm -r results/NAME/RUN-ID` removes"},
    {"delete tiny", "unknown command \"delete\"", "", "removes all of it. While a run trains, it keeps"},
    {"clean", "unknown command \"clean\"", "", "`rm -r results/NAME/RUN-ID` removes"},
    {"rename tiny other", "unknown command \"rename\"", "", "`fork RUN --name NEW`"},
    {"resmue tiny", "unknown command \"resmue\"", "", "did you mean \"resume\"?"},
    {"tiny.toml", "unknown command \"tiny.toml\"", "", "ddp-exp run tiny.toml"},
    // Arguments and options.
    {"run", "FILE is missing: experiment file", "run: ", "such as: ddp-exp run experiments/basic.toml"},
    {"run tny.toml", "there is no such file", "tny.toml: ", "did you mean \"tiny.toml\"?"},
    {"run gone.toml", "there is no such file", "gone.toml: ", "experiment files there: bad.toml, "},
    {"run tiny", "there is no such file", "tiny: ", "did you mean \"tiny.toml\"?"},
    {"run share/ddp-exp/iris", "there is no such file",
     "iris: ", "did you mean \"share/ddp-exp/experiments/iris.toml\"?"},
    {"run -c tiny.toml", "there is no option \"-c\"", "run: ", "give FILE as a word without an option"},
    {"run tiny.toml --set sweep.trials=3", "`run` trains no sweep, and the file has no [sweep]",
     "--set 1: ", "`ddp-exp sweep FILE` trains the trials"},
    {"run tiny.toml --set precision=bf16-mixed", "\"precision\" must be one of",
     "--set 1: ", "give --set 'precision=\"bf16\"'"},
    {"run tiny.toml --set precision=amp", "\"precision\" must be one of",
     "--set 1: ", "give --set 'precision=\"bf16\"'; or \"fp16\""},
    {"sweep sweep.toml --max-t 9", "there is no option \"--max-t\"", "sweep: ", "--set sweep.max_epochs=9"},
    {"sweep bad.toml", "\"num_samples\"", "bad.toml:8:", "did you mean \"trials\"?", "[sweep]\nnum_samples = 3"},
    {"sweep bad.toml", "\"grace_period\"", "bad.toml:8:", "did you mean \"min_epochs\"?", "[sweep]\ngrace_period = 3"},
    {"sweep bad.toml", "\"max_t\"", "bad.toml:8:", "did you mean \"max_epochs\"?", "[sweep]\nmax_t = 3"},
    {"resume tiny --set dataset=counting --set epochs=9",
     "the model of a run cannot change, and it does not fit the other data: dataset.name was \"random_pairs\"",
     "--set 1: ",
     "leave it out, or start a new run, with a file that has these data and a model for them: ddp-exp run"},
    {"run share", "it is a directory", "share: ", ""},
    {"run share/ddp-exp/experiments", "it is a directory",
     "share/ddp-exp/experiments: ", "experiment files there: share/ddp-exp/experiments/iris.toml"},
    {"run --config=tiny.toml", "there is no option \"--config\"", "run: ", "give FILE as a word without an option"},
    {"sweep sweep.toml --trial 1", "needs the sweep of the trial", "--trial: ", "--run-id ID"},
    {"slurm tiny.toml --output .", "is a folder", ".: ", "./job.sbatch"},
    {"slurm tiny.toml --output gone/job", "there is no such folder", "gone/job: ", "mkdir -p "},
    {"schema summary.json", "unknown schema \"summary.json\"", "", "did you mean \"summary\"?"},
    {"run gone/x.toml", "there is no such file", "gone/x.toml: ", ""},
    {"sweep sweep.toml --n-trials 5", "there is no option \"--n-trials\"", "sweep: ", "--set sweep.trials=5"},
    {"watch tiny", "unknown command \"watch\"", "", "ddp-exp show RUN"},
    {"submit tiny.toml", "unknown command \"submit\"", "", "ddp-exp slurm FILE"},
    {"run tiny.toml --init-from gone.safetensors", "there is no such file",
     "--init-from: ", "give a checkpoint, a run"},
    {"run tiny.toml again", "takes one FILE; \"again\" is one too many", "run: ", "usage: ddp-exp run [options] FILE"},
    {"run my exp.toml", "takes one FILE; \"exp.toml\" is one too many", "run: ", "has a blank: 'my exp.toml'"},
    {"run tiny.toml epochs=3", "\"epochs=3\" is one too many", "run: ", "needs its option: --set epochs=3"},
    {"run tiny.toml --set loss mse", "\"mse\" is one too many", "run: ", "a setting is one word: --set loss=mse"},
    {"run tiny.toml +optimizer.lr=0.1", "is one too many", "run: ", "not be in the file: --set optimizer.lr=0.1"},
    {"run tiny.toml --multirun optimizer.lr=0.1,0.2", "there is no option \"--multirun\"",
     "run: ", "then run: ddp-exp sweep FILE"},
    {"sweep tiny.toml -m", "there is no option \"-m\"", "sweep: ", "\"optimizer.lr\" = [0.1, 0.2]"},
    {"completion bash zsh", "\"zsh\" is one too many", "completion: ", "usage: "},
    {"export tiny a.safetensors b", "takes RUN and OUT; \"b\" is one too many", "export: ", "usage: "},
    {"datasets cvs", "there is no dataset \"cvs\"", "datasets: ", "did you mean \"csv\"?"},
    {"run tiny.toml --device cpu", "there is no option \"--device\"", "run: ", "--set 'device_pool=[\"cpu\",\"cpu\"]'"},
    {"run tiny.toml --gpus 2", "there is no option \"--gpus\"", "run: ", "--set device_pool=2"},
    {"run tiny.toml --device cuda:1", "there is no option \"--device\"", "run: ", "--set 'device_pool=[1]'"},
    {"run tiny.toml --set device_pool=true", "\"device_pool\" must be", "--set 1: ", "give, for example, \"auto\""},
    {"run tiny.toml --set device_pool=cpu", "\"device_pool\" must be", "--set 1: ", "[\"cpu\", \"cpu\"]"},
    {"run tiny.toml --resume", "there is no option \"--resume\"", "run: ", "`ddp-exp resume RUN` continues a run"},
    {"run --config tiny.toml", "there is no option \"--config\"", "run: ", "give FILE as a word without an option"},
    {"run tiny.toml --validation 0.2", "there is no option \"--validation\"", "run: ", "--set validation.split=0.2"},
    {"resume tiny --name other", "there is no option \"--name\"", "resume: ", "`ddp-exp fork RUN --name NEW`"},
    {"resume tiny --set name=other --set epochs=2", "a run keeps its name",
     "--set 1: ", "ddp-exp fork results/tiny/1 --name other --set epochs=2"},
    {"resume tiny --checkpoint=best", "there is no option \"--checkpoint\"", "resume: ", "--from best"},
    {"eval tiny --data x.csv", "there is no option \"--data\"", "eval: ", "--set dataset.path=x.csv"},
    {"eval tiny x.csv", "takes one RUN; \"x.csv\" is one too many", "eval: ", "--set dataset.path=x.csv"},
    {"eval tiny --set path=x.csv", "unknown key \"path\"", "--set 1: ", "did you mean \"dataset.path\"?"},
    {"predict tiny x.csv --checkpoint best", "there is no option \"--checkpoint\"",
     "predict: ", "here it is --from: checkpoint: best, latest or a step"},
    {"predict tiny --input x.csv", "there is no option \"--input\"", "predict: ", "give INPUT as a word"},
    {"resume tiny.toml", "no such run: \"tiny.toml\"", "results: ", "did you mean \"tiny\"?"},
    {"run data.csv", "this is not an experiment file", "data.csv: ", "path = \"data.csv\""},
    {"resume tiny --set model={name=\"mlp\",hidden=[4]}", "the model of a run cannot change",
     "--set 1: ", "start a new run with the other model: ddp-exp run "},
    {"run tiny.toml --set model=net.py", "there is no model \"net.py\"", "--set 1: ", "python/export_model.py writes"},
    {"run tiny.toml --lr 0.1", "there is no option \"--lr\"", "run: ", "--set optimizer.lr=0.1"},
    {"run tiny.toml --batch-size=8", "there is no option \"--batch-size\"", "run: ", "--set batch_size=8"},
    {"run tiny.toml --learning-rate 0.1", "there is no option \"--learning-rate\"", "run: ", "--set optimizer.lr=0.1"},
    {"run tiny.toml --max-epochs=3", "there is no option \"--max-epochs\"", "run: ", "--set epochs=3"},
    {"run tiny.toml --sett epochs=3", "there is no option \"--sett\"", "run: ", "did you mean \"--set\"?"},
    {"run tiny.toml --set --quiet", "--set needs a value", "run: ", "such as --set optimizer.lr=0.1"},
    {"run tiny.toml --set", "--set needs a value", "run: ", "usage: ddp-exp run [options] FILE"},
    {"run tiny.toml --max-restarts many", "--max-restarts takes an integer from 0 to 1000000, not \"many\"",
     "run: ", "start all ranks again"},
    {"run tiny.toml -q -v", "do not go together", "run: ", "give one of them"},
    {"sweep tiny.toml --jobs 0", "--jobs takes an integer from 1 to 4096, not \"0\"", "sweep: ", "side by side"},
    {"slurm tiny.toml --mem 20G", "there is no option \"--mem\"", "slurm: ", "sbatch --mem=20G job.sbatch"},
    {"slurm tiny.toml -p gpu", "there is no option \"-p\"", "slurm: ", "here it is --partition"},
    {"diff tiny", "needs 2 values of RUN, not 1", "diff: ", "such as: ddp-exp diff basic faster"},
    {"compare tiny", "compare needs two or more runs", "", "ddp-exp list shows the names"},
    // Settings.
    {"run tiny.toml --set sources=[\"gone.cpp\"]",
     "there is no such file: ", "--set 1: ", "starts at the current folder"},
    {"run tiny.toml --set epochs", "not an assignment", "--set 1: ", "--set takes key=value"},
    {"run tiny.toml --set freeze=a.*,b.*", "\"freeze\" must be a list of texts",
     "--set 1: ", "give --set 'freeze=[\"a.*\", \"b.*\"]'"},
    {"run tiny.toml --set validation=share", "\"validation\" must be a table",
     "--set 1: ", "give --set 'validation={split=0,dataset={path=\"share\"}}'"},
    {"run bad.toml", "\"validation\" must be a table",
     "bad.toml:7:14: ", "write validation = { dataset = { path = \"share\" } }", "validation = \"share\""},
    {"run tiny.toml --set lr=0.1", "unknown key \"lr\"", "--set 1: ", "did you mean \"optimizer.lr\"?"},
    {"run tiny.toml --set epochs=3 --set optimizer.lr=0,1", "\"optimizer.lr\" must be a number",
     "--set 2: ", "write a decimal point: 0.1"},
    {"run tiny.toml --name latest", "\"latest\" cannot be the name of an experiment", "--name: ", "the newest run"},
    {"run tiny.toml --name -x", "\"-x\" cannot be the name of an experiment", "--name: ", "does not begin with"},
    {"run tiny.toml --name größe", "cannot be the name of an experiment", "--name: ", "ASCII letters"},
    {"run tiny.toml --init-from nothing", "no such run: \"nothing\"", "--init-from: ", "names there: tiny"},
    {"run tiny.toml --init-from gone.pt", "no such run: \"gone.pt\"",
     "--init-from: ", "names there: tiny"},
    {"run tiny.toml --init-from zip.pth", "is no .safetensors file", "--init-from: ", "give a checkpoint"},
    {"run tiny.toml --set init_from=old.pt", "is no .safetensors file", "--set 1: ", "give a checkpoint"},
    {"run tiny.toml --set epochs=3 --set steps=5", "\"epochs\" and \"steps\" are both given", "--set 2: ", "one of"},
    {"sweep sweep.toml --set sweep.parameters.batch_size=8", "\"batch_size\" has one value",
     "--set 1: ", "give a list of values"},
    // Names of runs and their checkpoints.
    {"resume nothing", "no such run: \"nothing\"", "results: ", "names there: tiny"},
    {"show ex/1", "no such run: \"ex/1\"", "results: ", "did you mean \"tiny/1\"?"},
    {"resume tny", "no such run: \"tny\"", "results: ", "did you mean \"tiny\"?"},
    {"show results/tiny/", "no such run: \"results/tiny/\"", "results: ", "did you mean \"tiny\"?"},
    {"show latest --results tiny.toml", "tiny.toml is not a folder", "tiny.toml: ", "--results FOLDER"},
    {"fork tiny", "all steps are done at this checkpoint", "results/tiny/1: ", "--set epochs=4, or more"},
    {"report tiny --output page.pdf", "it must end in .html", "page.pdf: ", "for example --output page.html"},
    {"report tiny --output gone/page.html", "there is no such folder", "gone/page.html: ", "mkdir -p "},
    {"export tiny w.safetensors --eval", "applies only to a .pt2 file", "--eval: ", "leave it out"},
    {"resume tiny --from 7", "no complete checkpoint of step 7", "--from: ", "one of these steps: 24"},
    {"resume tiny --from step-00000024", "takes a step, not \"step-00000024\"", "--from: ", "--from 24"},
    {"export tiny out.onnx", "has an unknown ending", "out.onnx: ", "torch.onnx.export"},
    {"run net.pt2", "this is not an experiment file", "net.pt2: ", "name = \"exported\", path = \"net.pt2\""},
    {"resume results/tiny/1/checkpoints/step-00000024", "is inside the folder of a run",
     "results/tiny/1/checkpoints/step-00000024: ", "name the run: results/tiny/1"},
    {"show results/tiny/1/config.toml", "is inside the folder of a run",
     "config.toml: ", "name the run: results/tiny/1"},
    {"show tiny --results gone", "no such run: \"tiny\"; there is no folder /", "gone: ", "gone"},
    {"show latest --results gone", "no runs yet; there is no folder /", "gone: ", "--results FOLDER"},
    {"resume tiny --results .", "no such run: \"tiny\"", ".: ", "has no runs"},
    {"sweep tiny.toml", "the file has no [sweep] table", "tiny.toml: ", "give the keys to vary"},
    {"list --sort val_los", "\"val_los\"", "", "val_loss"},
    // Experiment files.
    {"run bad.toml", "unknown key \"batchsize\"", "bad.toml:7:1: ", "did you mean \"batch_size\"?", "batchsize = 3"},
    {"run bad.toml", "\"seed\" must be an integer", "bad.toml:7:8: ", "", "seed = \"seven\""},
    {"run bad.toml", "there is no loss \"mae\"", "bad.toml:7:8: ", "did you mean \"l1\"?", "loss = \"mae\""},
    {"run bad.toml", "unknown key \"test_size\" in [validation]", "bad.toml:7:", "did you mean \"validation.split\"?",
     "validation.test_size = 0.2"},
    {"run bad.toml", "there is no optimizer \"adamm\"", "bad.toml:7:13: ", "did you mean \"adam\"?",
     "optimizer = \"adamm\""},
    {"run bad.toml", "a file of Python cannot be compiled", "bad.toml:7:", "python/export_model.py writes a .pt2 file",
     "sources = [\"net.py\"]"},
    {"run nofile.toml", "there is no such file: ", "nofile.toml:2:", "a relative path starts at the folder"},
    {"run nofile.toml", "there is no such file: ", "nofile.toml:2:", "--set dataset.path=PATH names another place"},
    {"run share/ddp-exp/experiments/iris.toml", "there is no such file: ", "iris.toml:2:",
     "a checkout has these data in its data/, and an installation has none: --set dataset.path=PATH"},
    {"plan nofile.toml", "there is no such file: ", "nofile.toml:2:", "a relative path starts at the folder"},
    {"run bad.toml", "unknown key \"accumulate\" in [loader]",
     "bad.toml:8:1: ", "move the line above the first [section]", "[loader]\naccumulate = 2"},
    {"run bad.toml", "unknown key \"epochs\" in [loader]",
     "bad.toml:8:1: ", "belongs at the top of the file. Line 4 gives it already", "[loader]\nepochs = 1"},
    {"run bad.toml", "\"tiny\" is not a value", "bad.toml:7:9: ", "text needs quotes: \"tiny\"", "name = tiny"},
    {"plan bad.toml", "there is no init_method \"127.0.0.1:29500\"", "bad.toml:8:", "use \"env://\"",
     "[distributed]\ninit_method = \"127.0.0.1:29500\""},
    {"run bad.toml", "is no .safetensors file: ", "bad.toml:7:", "give a checkpoint", "init_from = \"text.pth\""},
    {"run bad.toml", "unknown key \"every\" in [test]",
     "bad.toml:8:1: ", "\"every\" is a key of [ema], [validation] and [log]", "[test]\nevery = 2"},
    {"sweep bad.toml", "\"sweep.min_epochs\": min_epochs is more than the 3 epochs of a whole trial", "bad.toml:11:14",
     "give min_epochs = 1, or at most 3; or more epochs",
     "[sweep]\nmethod = \"asha\"\nmetric = \"train_loss\"\ntrials = 2\nmin_epochs = 5\n"
     "[sweep.parameters]\n\"optimizer.lr\" = { min = 0.1, max = 0.2 }"},
    {"list --where los>0.1", "no result has the key \"los\"", "", "did you mean \"train_loss\"?"},
    {"run classes.toml", "a target is class 9, and the model gives 5 classes",
     "classes.toml:1:", "one output for each class"},
};

const std::string kSweep = kTiny + "[sweep.parameters]\nbatch_size = [4, 8]\n";

const std::string kTooFewOutputs =
    "model = { name = \"linear\", in_features = 64, out_features = 5 }\n"
    "dataset = { name = \"digits\", path = \"digits.csv\" }\ndevice_pool = [\"cpu\"]\n";

const std::string kWithoutFile =
    "model = { name = \"linear\", in_features = 64, out_features = 10 }\n"
    "dataset = { name = \"digits\", path = \"gone.csv\" }\ndevice_pool = [\"cpu\"]\n";

const std::string kInstalled =
    "model = { name = \"linear\", in_features = 64, out_features = 10 }\n"
    "dataset = { name = \"digits\", path = \"../data/gone.csv\" }\ndevice_pool = [\"cpu\"]\n";

// Ten classes; the first samples have only some of them.
std::string digits() {
  std::string rows;
  for (int row = 0; row < 40; ++row) {
    for (int pixel = 0; pixel < 64; ++pixel) rows += std::to_string((row + pixel) % 17) + ",";
    rows += std::to_string(row / 4) + "\n";
  }
  return rows;
}

}  // namespace

TEST_CASE("the answers to 40 mistakes of users name the fault, its place and the remedy, and start nothing", "[slow]") {
  CHECK(kMistakes.size() >= 40);
  const Workspace w;
  w.write("tiny.toml", kTiny);
  w.write("sweep.toml", kSweep);
  w.write("classes.toml", kTooFewOutputs);
  w.write("digits.csv", digits());
  w.write("data.csv", "age,city\n1,Bonn\n");
  w.write("my exp.toml", kTiny);
  w.write("net.py", "class Net: pass\n");
  w.write("zip.pth", "PK\x03\x04 data.pkl");
  w.write("text.pth", "no weights at all");
  w.write("old.pt", "\x80\x02 pickle");
  w.write("net.pt2", std::string("PK\3\4 not the whole archive\n", 29));
  w.write("nofile.toml", kWithoutFile);
  fs::create_directories(w.folder() / "share/ddp-exp/experiments");
  w.write("share/ddp-exp/experiments/iris.toml", kInstalled);
  REQUIRE(w.run({"run", "tiny.toml", "--run-id", "1"}).code == 0);
  for (const UsersMistake& mistake : kMistakes) {
    w.write("bad.toml", kTiny.substr(1) + mistake.file + "\n");
    const Outcome answer = w.run(words_of(mistake.line), with_program_on_path());
    INFO("ddp-exp " << mistake.line << "\n" << answer.err);
    CHECK(answer.code == 2);
    CHECK(answer.err.starts_with("error: "));
    CHECK(contains(answer.err, mistake.what));
    CHECK(contains(answer.err, mistake.where));
    CHECK(contains(answer.err, mistake.remedy));
    CHECK(answer.out.empty());
    CHECK_FALSE(answer.left);
  }
  CHECK(w.run({"list", "--json"}).out.find("\"run\": \"tiny/1\"") != std::string::npos);
  CHECK(Json::parse(w.run({"list", "--json"}).out).at("runs").size() == 1);
}

TEST_CASE("the help of every command fits into 80 columns, has no word of the parser, and gives examples") {
  const Workspace w;
  const auto help_of = [&](std::vector<std::string> words) {
    words.push_back("--help");
    const Outcome help = w.run(words, with_program_on_path());
    CHECK(help.code == 0);
    for (const std::string& line : lines_of(help.out)) {
      INFO(line);
      CHECK(line.size() <= 80);
    }
    for (const char* word : {"SUBCOMMAND", "REQUIRED", "Positionals", " in [", "INT:"})
      CHECK_FALSE(contains(help.out, word));
    return help.out;
  };
  const std::string all = help_of({});
  const std::size_t commands = all.find("Commands:\n");
  REQUIRE(commands != std::string::npos);
  int verbs = 0;
  for (const std::string& line : lines_of(all.substr(commands))) {
    if (!line.starts_with("  ") || line[2] == ' ') continue;
    const std::string verb = words_of(line).front();
    INFO(verb);
    CHECK(contains(help_of({verb}), "Examples:\n  ddp-exp " + verb));
    ++verbs;
  }
  CHECK(verbs >= 20);
}

}  // namespace ddp::system_test
