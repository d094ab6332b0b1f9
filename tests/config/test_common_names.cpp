#include "catch.h"
#include "config/check/common_names.h"
#include "config/experiment.h"
#include "config/option/parameter.h"
#include "installed.h"
#include "scratch.h"

namespace ddp::config {
namespace {

std::string mistakes_in(const std::string& text) {
  const Scratch scratch;
  scratch.write("x.toml", text + "\n");
  try {
    load("x.toml", {}, real_components());
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string told_of_line(const std::string& line) {
  return mistakes_in(line + "\n" + (line.starts_with("dataset") ? "model = \"linear\"" : kModelAndDataset));
}

}  // namespace

TEST_CASE("names from other programs are answered with an existing key of the same meaning") {
  const std::vector<Option> options = describe<Experiment>();
  for (const CommonName& one : common_names()) {
    INFO(one.name);
    const std::string told = told_of_line(std::string(one.name) + " = 1");
    CHECK(contains(told, "x.toml:1:1: unknown key \"" + std::string(one.name) + "\""));
    CHECK((*one.key || *one.words));
    CHECK(contains(told, one.words));
    if (!*one.key) continue;
    CHECK(contains(told, "did you mean \"" + std::string(one.key) + "\"?"));
    CHECK(find_option(one.key, options, real_components()));
  }
}

TEST_CASE("a name beside its key is answered with two sentences") {
  CHECK(contains(mistakes_in(kModelAndDataset + "mixed_precision = true\nprecision = \"bf16\""),
                 "keep one of them\n  precision = \"bf16\" or \"fp16\" trains in half precision"));
}

TEST_CASE("a name from another program is recognized in any case, with - or _, and in a section") {
  CHECK(contains(told_of_line("Learning-Rate = 1"), "did you mean \"optimizer.lr\"?"));
  CHECK(contains(told_of_line("loader.num_workers = 1"), "did you mean \"loader.workers\"?"));
  CHECK(contains(told_of_line("optimizer = { name = \"sgd\", learning_rate = 1 }"), "did you mean \"lr\"?"));
}

TEST_CASE("a key in the wrong section is answered with its own section, or with the section's own key") {
  for (const auto& [lines, remedy] : std::vector<std::pair<std::string, std::string>>{
           {"[validation]\nsplit = 0.2\nepochs = 2", "\"epochs\" belongs at the top of the file: move the line above"},
           {"[loader]\nbatch_size = 2", "\"batch_size\" belongs at the top of the file: move the line above"},
           {"[test]\nseed = 2", "\"seed\" belongs at the top of the file: move the line above"},
           {"[optimizer]\nname = \"adam\"\nbatch_size = 2", "\"batch_size\" belongs at the top of the file"},
           {"[[groups]]\nmatch = \"*\"\nepochs = 2", "\"epochs\" belongs at the top of the file: move the line above"},
           {"[loader]\nmax_epochs = 2", "did you mean \"epochs\"? It belongs at the top of the file"},
           {"[loader]\npatience = 2", "did you mean \"patience\"? It belongs in [stop]"},
           {"[checkpoint]\nevery = 2", "did you mean \"save_every\"?"},
           {"[stop]\nmonitor = \"val_loss\"", "did you mean \"metric\"?"},
           {"[loader]\nextends = \"base.toml\"", "\"extends\" belongs at the top of the file: move the line above"},
           {"[[groups]]\nname = \"x\"\nmatch = \"*\"", "leave it out: a group has no name"},
           {"[[groups]]\nparams = \"*\"", "did you mean \"match\"?"},
           {"[[groups]]\nmatch = \"*\"\nlr_mult = 0.1", "did you mean \"lr_scale\"?"},
           {"[stop]\ntarget = 0.9", "no such key: a run ends after `patience` validations"},
           {"[ema]\nenabled = true", "leave it out: [ema] turns the average on"},
           {"[ema]\nupdate_every = 10", "did you mean \"every\"?"},
           {"[clip]\ntype = \"norm\"\nnorm = 1", "leave it out: the key norm limits the norm"},
           {"[checkpoint]\ndir = \"x\"", "results/NAME/RUN-ID/checkpoints"},
           {"[checkpoint]\nsave_best = true", "keep_last and keep_best are their numbers"},
           {"[log]\nlevel = \"debug\"", "--verbose and --quiet choose what is printed"},
           {"[validation]\nfrequency = 2", "did you mean \"every\"?"},
           {"[validation]\nshuffle = true", "leave it out: the held-out samples are drawn"},
           {"[eval]\nsplit = 0.1", "did you mean \"validation\"?"},
           {"[distributed]\nmaster_addr = \"x\"", "--nnodes 2 --node-rank 0 --master-addr HOST"},
           {"scheduler = { name = \"cosine\", eta_min = 0.1 }", "did you mean \"min_lr\"?"},
           {"scheduler = { name = \"cosine\", warmup = 0.07 }", "give warmup = \"7%\""},
           {"scheduler = { name = \"multistep\", milestones = \"10, 20\" }", "give milestones = [10, 20]"},
           {"scheduler = { name = \"multistep\", milestones = 10 }", "give milestones = [10]"},
           {"scheduler = \"cosine_with_warmup\"", "did you mean \"cosine\"?"},
           {"optimizer = \"torch.optim.Adam\"", "did you mean \"adam\"?"},
           {"loss = \"torch.nn.MSELoss\"", "did you mean \"mse\"?"},
           {"loss = { name = \"mse\", reduction = \"sum\" }", "leave it out: the loss is the mean"},
           {"init_from = { path = \"x.safetensors\", exclude = \"fc.*\" }", "did you mean \"skip\"?"},
           {"[ema]\nbeta = 0.9", "did you mean \"decay\"?"},
           {"[validation]\nmetric = \"accuracy\"", "metrics = [\"accuracy\"]"},
           {"[validation]\npath = \"x.csv\"", "dataset = { path = "},
           {"clip = { max_norm = 1 }", "did you mean \"norm\"?"},
           {"optimizer = { name = \"sgd\", weight-decay = 0.1 }", "did you mean \"weight_decay\"?"},
           {"optimizer = { name = \"adam\", beta1 = 0.9 }", "write betas = [0.9, 0.999]"},
           {"scheduler = { name = \"onecycle\", total_steps = 9 }", "leave it out: the schedule follows"},
           {"optimizer = { type = \"adam\" }", "write name = \"adam\""}}) {
    INFO(lines);
    const std::string told = mistakes_in(kModelAndDataset + lines);
    INFO(told);
    CHECK(contains(told, remedy));
  }
}

TEST_CASE("a wrong name of a component is answered together with the options that the meant component does not have") {
  const auto told = [](const std::string& line) { return mistakes_in(kModelAndDataset + line); };
  for (const char* key : {"name", "type"}) {
    const std::string adam =
        told(std::string("optimizer = { ") + key + " = \"AdamW\", lr = 0.1, momentum = 0.9, weight-decay = 0.1 }");
    INFO(adam);
    CHECK(contains(adam, key == std::string("name") ? "did you mean \"adamw\"?" : "write name = \"adamw\""));
    CHECK(contains(adam, "optimizer adamw has no option \"momentum\""));
    CHECK(contains(adam, "did you mean \"weight_decay\"?"));
  }
  // An option that is missing is no mistake yet: perhaps another component is meant.
  CHECK_FALSE(contains(told("scheduler = { name = \"multistop\" }"), "milestones"));
  CHECK_FALSE(contains(told("scheduler = { name = \"zzzzzzzzz\", gamma = 1 }"), "no option"));
}

TEST_CASE("a key at the top of the file is answered with all its sections and with the way to write it there") {
  CHECK(contains(told_of_line("block_size = 8"), "did you mean \"model.block_size\" or \"dataset.block_size\"?"));
  CHECK(contains(told_of_line("sched = \"cosine\""), "did you mean \"scheduler\"?"));
  CHECK(contains(told_of_line("weight_decay = 0.1\noptimizer = { name = \"adam\" }"),
                 "Write it in the table of line 2: optimizer = { …, weight_decay = 0.1 }"));
  CHECK(contains(told_of_line("weight_decay = 0.1\noptimizer = \"adam\""),
                 "Write line 2 as optimizer = { name = \"adam\", weight_decay = 0.1 }"));
  CHECK(contains(mistakes_in("weight_decay = 0.1\n" + kModelAndDataset + "[optimizer]\nname = \"adam\""),
                 "Write it below line 4, [optimizer]: weight_decay = 0.1"));
}

TEST_CASE("a remedy names the line that gives the key already, so that nobody writes it twice") {
  struct Twice {
    std::string lines;
    std::string remedy;
  };
  const std::vector<Twice> all = {
      {"scheduler = \"cosine\"\nlr_scheduler = \"step\"",
       "did you mean \"scheduler\"? Line 3 gives it already: keep one"},
      {"scheduler = \"cosine\"\n[lr_scheduler]\nname = \"step\"", "Line 3 gives it already: write all its keys there"},
      {"[early_stopping]\npatience = 3\n[stop]\nmin_delta = 1", "did you mean \"stop\"? Line 5 gives it already"},
      {"optimizer = { lr = 0.1 }\nlearning_rate = 1", "did you mean \"optimizer.lr\"? Line 3 gives it already"},
      {"optimizer = { lr = 0.1, learning_rate = 1 }", "did you mean \"lr\"? Line 3 gives it already"},
      {"optimizer.lr = 0.1\noptimizer.lrr = 1", "did you mean \"lr\"? Line 3 gives it already"},
      {"epochs = 3\n[loader]\nepochs = 2", "\"epochs\" belongs at the top of the file. Line 3 gives it already"},
      {"epochs = 3\nepoch = 2", "did you mean \"epochs\"? Line 3 gives it already"},
      {"[stop]\npatience = 3\n[loader]\npatience = 2", "did you mean \"stop.patience\"? Line 4 gives it already"},
      {"scheduler = \"cosine\"\n[loader]\nwarmup = 5", "Write line 3 as scheduler = { name = \"cosine\", warmup = 5 }"},
      {"[stop]\nmin_delta = 1\n[loader]\npatience = 2", "Write it below line 3, [stop]: patience = 2"}};
  for (const Twice& one : all) {
    const std::string told = mistakes_in(kModelAndDataset + one.lines);
    INFO(one.lines << "\n" << told);
    CHECK(contains(told, one.remedy));
  }
  for (const std::string lines :
       {"criterion = \"mse\"", "ema.every = 2\nema_decay = 0.9", "validation.dataset = { pth = \"x\" }"}) {
    CHECK_FALSE(contains(mistakes_in("model = \"linear\"\ndataset = { name = \"digits\", path = \"y\" }\n" + lines),
                         "already"));
  }
}

TEST_CASE("a table under the name of a key is answered with the section, and an example fits its key") {
  CHECK(told_of_line("early_stopping = { patience = 3 }").ends_with("did you mean \"stop\"?"));
  CHECK(contains(mistakes_in("use_ema = true\n" + kModelAndDataset + "[ema]\nevery = 2"), "[ema]: decay = …"));
}

TEST_CASE("transforms of torchvision that are not needed or belong elsewhere are answered") {
  const auto told = [](const std::string& transform) {
    return mistakes_in("model = \"resnet18\"\ndataset = { name = \"image_folder\", path = \"x\", transforms = [" +
                       transform + "] }");
  };
  for (const char* type : {"ToTensor", "ToImage", "ToDtype", "PILToTensor", "ConvertImageDtype"}) {
    CHECK(contains(told("{ type = \"" + std::string(type) + "\" }"), "leave it out: images become float32"));
    CHECK(contains(told("\"" + std::string(type) + "\""), "leave it out: images become float32"));
  }
  CHECK(contains(told("{ type = \"Compose\" }"), "the list applies its transforms in order"));
  CHECK(contains(told("{ type = \"MixUp\" }"), "mix = [{ type = \"MixUp\", alpha = 0.2 }]"));
  CHECK(contains(told("{ type = \"HorizontalFlip\" }"), "did you mean \"RandomHorizontalFlip\"?"));
}

TEST_CASE("a file, or a name, in place of a table is answered with the table") {
  for (const auto& [line, remedy] : std::vector<std::pair<std::string, std::string>>{
           {"validation.dataset = \"x.csv\"", "write dataset = { path = \"x.csv\" }"},
           {"groups = { match = \"*\" }", "write [[groups]], with two brackets"}}) {
    INFO(line);
    CHECK(contains(told_of_line(line), remedy));
  }
  CHECK(contains(mistakes_in("model = \"linear\"\ndataset = \"iris.csv\""),
                 "write dataset = { name = \"csv\", path = \"iris.csv\", target = \"…\" }"));
  CHECK(contains(mistakes_in("model = \"cnn.pt2\"\ndataset = \"random_pairs\""),
                 "write model = { name = \"exported\", path = \"cnn.pt2\" }"));
  CHECK(contains(mistakes_in("model = { name = \"sequential\", layers = [\"Linear\"] }\ndataset = \"random_pairs\""),
                 "write { type = \"Linear\" }"));
}

TEST_CASE("a shortened name is answered with the longer one, and initials with the name") {
  CHECK(contains(told_of_line("checkpoint.metric = \"val_acc\""), "did you mean \"val_accuracy\"?"));
  CHECK(contains(told_of_line("stop.metric = \"val_f1\""), "did you mean \"val_f1_"));
  CHECK(contains(told_of_line("parallel = \"dp\""), "did you mean \"data_parallel\"?"));
}

TEST_CASE("the list of all keys is printed once for many unknown keys") {
  const std::string told = mistakes_in(kModelAndDataset + "qqqqqq = 1\nzzzzzz = 2\nxxxxxx = 3");
  CHECK(count(told, "keys: name, seed") == 1);
  CHECK(told.find("keys: name, seed") > told.find("xxxxxx"));
}

TEST_CASE("a name from another program is answered with the key of the section in which it stands") {
  for (const auto& [line, remedy] : std::vector<std::pair<std::string, std::string>>{
           {"validation.test_size = 0.2", "did you mean \"validation.split\"?"},
           {"dataset = { name = \"csv\", cat_features = [\"a\"] }", "did you mean \"categories\"?"},
           {"dataset = { name = \"csv\", sep = \";\" }", "did you mean \"delimiter\"?"},
           {"dataset = { name = \"csv\", labels = \"a\" }", "did you mean \"target\"?"}}) {
    INFO(line);
    CHECK(contains(told_of_line(line), remedy));
  }
}

TEST_CASE("names of losses, schedulers and metrics from other programs, and their values, are answered") {
  for (const auto& [line, remedy] : std::vector<std::pair<std::string, std::string>>{
           {"loss = \"mae\"", "did you mean \"l1\"?"},
           {"loss = \"BCEWithLogitsLoss\"", "did you mean \"bce_with_logits\"?"},
           {"scheduler = \"CosineAnnealingLR\"", "did you mean \"cosine\"?"},
           {"metrics = [\"f1\"]", "did you mean \"f1_macro\"?"},
           {"metrics = \"auc\"", "give metrics = [\"auroc\"]"},
           {"stop.metric = \"rmse\"", "did you mean \"val_rmse\"?"},
           {"checkpoint.metric = \"val_auc\"", "did you mean \"val_auroc\"?"},
           {"loss = { name = \"cross_entropy\", weight = \"balanced\" }", "give one number for each class"},
           {"dataset = { name = \"csv\", normalise = true }", "give normalise = \"standard\""}}) {
    INFO(line);
    CHECK(contains(told_of_line(line), remedy));
  }
}

TEST_CASE("a value in place of a section is answered with the key that takes it") {
  for (const auto& [line, remedy] : std::vector<std::pair<std::string, std::string>>{
           {"clip = 1.5", "write clip = { norm = 1.5 }"},
           {"clip = true", "write clip = { norm = 1.0 }"},
           {"ema = true", "write ema = { decay = 0.999 }"},
           {"ema = 0.99", "write ema = { decay = 0.99 }"},
           {"ema = 10", "write ema = { decay = 0.999 }"},
           {"ema = false", "leave it out"},
           {"validation = 0.2", "write validation = { split = 0.2 }"},
           {"stop = 3", "write stop = { patience = 3 }"},
           {"loader = 4", "write loader = { workers = 4 }"},
           {"distributed = \"shm\"", "write distributed = { backend = \"shm\" }"},
           {"checkpoint = \"often\"", "write checkpoint = { save_every = 1 }"},
           {"stop = \"2h\"", "write stop = { max_time = \"2h\" }"},
           {"log = 5", "write log = { every = 5 }"}}) {
    INFO(line);
    const std::string told = told_of_line(line);
    CHECK(contains(told, "must be a table, not"));
    CHECK(contains(told, remedy));
  }
}

TEST_CASE("a condition of a group that never holds is refused") {
  for (const char* condition : {"ndim<0", "ndim<-1", "ndim<=-1", "ndim==-2"}) {
    const std::string told = told_of_line("groups = [{ match = \"" + std::string(condition) + "\" }]");
    CHECK(contains(told, "has a condition that never holds"));
  }
  for (const char* condition : {"dim<2", "ndim=1", "weight.ndim>1"}) {
    const std::string told = told_of_line("groups = [{ match = \"" + std::string(condition) + "\" }]");
    CHECK(contains(told, "has an invalid condition"));
  }
  for (const char* condition : {"ndim<1", "ndim<=0", "ndim==0", "ndim>-1"}) {
    CHECK(told_of_line("groups = [{ match = \"" + std::string(condition) + "\" }]").empty());
  }
}

}  // namespace ddp::config
