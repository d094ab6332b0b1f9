#include <sys/wait.h>
#include <cstdlib>
#include <fstream>

#include "catch.h"
#include "workspace.h"

// The script that `ddp-exp slurm` writes, without a Slurm; tests/slurm runs it on a Slurm.

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

const std::string kScriptPair = "model = \"linear\"\ndataset = \"random_pairs\"\n";

bool bash_can_read(const fs::path& script) {
  const int status = std::system(("bash -n '" + script.string() + "'").c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void check_script_refused(const Workspace& w, const Words& arguments, const std::string& said) {
  w.refused(arguments, {said});
  CHECK_FALSE(fs::exists(w.folder() / "job.sbatch"));
}

}  // namespace

TEST_CASE("the job script of the HPC tutorial is written by one command") {
  const Workspace w("pair.toml", kScriptPair);
  const Outcome slurm =
      w.done(words_of("slurm pair.toml --nodes 2 --gpus-per-node 8 --partition long --account csi --time 1:00:00 "
                      "--cpus-per-task 24 --nproc-per-node 4 --module anaconda3 --module cuda/12.4 --port 7777 "
                      "--job-name first --set optimizer.lr=0.1 --name other"));
  CHECK(slurm.out == "job.sbatch\n");
  const std::string script = text_of(w.folder() / "job.sbatch");
  INFO(script);
  CHECK(script.starts_with("#!/bin/bash\n"));
  for (const std::string line :
       {"#SBATCH --partition=long", "#SBATCH --nodes=2", "#SBATCH --time=1:00:00", "#SBATCH --account=csi",
        "#SBATCH --exclusive", "#SBATCH --job-name=first", "#SBATCH --gpus-per-node=8", "#SBATCH --cpus-per-task=24",
        "#SBATCH --signal=B:USR2@120", "#SBATCH --requeue", "module load anaconda3 cuda/12.4 || exit", "port=7777"}) {
    INFO(line);
    CHECK(contains(script, "\n" + line + "\n"));
  }
  CHECK(contains(script, "\n#SBATCH --open-mode=append"));
  CHECK(contains(script, "\nprogram=" DDP_EXP "\n"));
  CHECK(contains(script, "\nexperiment=" + (fs::canonical(w.folder()) / "pair.toml").string() + "\n"));
  CHECK(contains(script, "\nresults=" + (fs::canonical(w.folder()) / "results").string() + "\n"));
  for (const std::string part : {"--nproc-per-node 4", "--set optimizer.lr=0.1", "--name other",
                                 "srun --nodelist=", "--cpus-per-task=24", "--run-id \"slurm-$SLURM_JOB_ID\""}) {
    INFO(part);
    CHECK(contains(script, part));
  }
  CHECK(bash_can_read(w.folder() / "job.sbatch"));
}

TEST_CASE("omitted options are left to the cluster") {
  const Workspace w("pair.toml", kScriptPair);
  const std::string script = w.run({"slurm", "pair.toml", "--no-exclusive", "--output", "-"}).out;
  INFO(script);
  for (const std::string option :
       {"--partition", "--account", "--time", "--gpus", "--cpus", "--exclusive", "--nproc"}) {
    INFO(option);
    CHECK_FALSE(contains(script, option));
  }
  CHECK_FALSE(contains(script, "module load"));
  CHECK(contains(script, "\n#SBATCH --job-name=pair\n"));
  // Two jobs on the same node use different ports.
  CHECK(contains(script, "\nport=$((20000 + SLURM_JOB_ID % 10000))\n"));
  CHECK_FALSE(fs::exists(w.folder() / "job.sbatch"));
}

TEST_CASE("a job is signalled to save two minutes before its end, or after most of its time if it is short") {
  const Workspace w("pair.toml", kScriptPair);
  const auto signal = [&](Words arguments) {
    arguments.insert(arguments.begin(), {"slurm", "pair.toml", "--output", "-"});
    const std::string script = w.run(arguments).out;
    const auto at = script.find("--signal=");
    return script.substr(at, script.find('\n', at) - at);
  };
  CHECK(signal({}) == "--signal=B:USR2@120");
  CHECK(signal({"--time", "1-0"}) == "--signal=B:USR2@120");
  CHECK(signal({"--time", "4"}) == "--signal=B:USR2@60");
  CHECK(signal({"--time", "4", "--signal-before", "100"}) == "--signal=B:USR2@100");
  CHECK(signal({"--time", "0", "--signal-before", "300"}) == "--signal=B:USR2@300");
  check_script_refused(w, {"slurm", "pair.toml", "--time", "4", "--signal-before", "240"}, "no time");
}

TEST_CASE("no argument of a user can become a command of the script") {
  const Workspace w;
  fs::create_directory(w.folder() / "it's $(touch bad)");
  w.write("it's $(touch bad)/pair.toml", kScriptPair);
  const std::string nasty = "'; touch bad; '$(touch bad)`touch bad`\"";
  const Outcome slurm =
      w.done({"slurm", "it's $(touch bad)/pair.toml", "--partition", nasty, "--account", nasty, "--job-name", nasty,
              "--module", nasty, "--set", "dataset.name='random_pairs'", "--results", nasty});
  CHECK(bash_can_read(w.folder() / "job.sbatch"));
  // Without Slurm all of the script's own commands fail, one after the other; only touch would work.
  fs::create_directory(w.folder() / "bin");
  fs::create_symlink("/usr/bin/touch", w.folder() / "bin" / "touch");
  const std::string everything = "cd '" + w.folder().string() +
                                 "' && sed -i 's/ || exit$//' job.sbatch && "
                                 "SLURM_JOB_ID=1 SLURM_JOB_NODELIST=n1 PATH=bin /bin/bash job.sbatch >said 2>&1";
  CHECK(std::system(everything.c_str()) != -1);
  CHECK(contains(text_of(w.folder() / "said"), "scontrol: command not found"));
  CHECK_FALSE(fs::exists(w.folder() / "bad"));
  for (const std::string option : {"--partition", "--account", "--job-name", "--module", "--results"}) {
    w.refused({"slurm", "it's $(touch bad)/pair.toml", option, "a\ntouch bad", "--force"},
              {option + ": has a line end"});
  }
}

TEST_CASE("a wrong command line or experiment writes no script") {
  const Workspace w("pair.toml", kScriptPair);
  w.write("bad.toml", kScriptPair + "epochs = true\n");
  check_script_refused(w, {"slurm", "pair.toml", "--time", "1h"}, "--time: \"1h\" is not a time");
  check_script_refused(w, {"slurm", "pair.toml", "--nodes", "0"}, "--nodes");
  check_script_refused(w, {"slurm", "pair.toml", "--port", "65536"}, "--port");
  check_script_refused(w, {"slurm", "pair.toml", "--name", "a/b"}, "name");
  check_script_refused(w, {"slurm", "gone.toml"}, "gone.toml");
  check_script_refused(w, {"slurm", "pair.toml", "--submit", "--output", "-"}, "--output");
  check_script_refused(w, {"slurm", "pair.toml", "--set", "optimizer.lrr=1"}, "did you mean \"lr\"");
  check_script_refused(w, {"slurm", "bad.toml"}, "epochs");
}

TEST_CASE("a job that contradicts the devices of its experiment writes no script") {
  const Workspace w("pair.toml", kScriptPair + "device_pool = [\"cpu\", \"cpu\"]\n");
  w.write("gpus.toml", kScriptPair + "device_pool = [0, 3]\n");
  w.write("any.toml", kScriptPair);
  for (const auto& [line, said] : std::vector<std::pair<std::string, std::string>>{
           {"pair.toml --nproc-per-node 4", "pair.toml:3:15: "},
           {"gpus.toml --gpus-per-node 2", "--gpus-per-node is 2"},
           {"any.toml --set device_pool=4 --gpus-per-node 2", "needs 4 GPUs on a node"},
           {"any.toml --nproc-per-node 8 --gpus-per-node 4", "--nproc-per-node: needs 8"},
           {"pair.toml --set backend=nccl", "nccl"},
           {"any.toml --set parallel=single --nodes 2 --gpus-per-node 1", "one process, but 2"},
           {"pair.toml --set global_batch_size=64 --nodes 3", "64 samples"}}) {
    check_script_refused(w, words_of("slurm " + line), said);
  }
}

TEST_CASE("a job whose ranks lack or waste GPUs is written with a warning") {
  const Workspace w("pair.toml", kScriptPair + "device_pool = [\"cpu\", \"cpu\"]\n");
  w.write("gpus.toml", kScriptPair + "device_pool = [0, 1]\n");
  w.write("any.toml", kScriptPair);
  const auto said = [&](Words arguments) {
    arguments.insert(arguments.begin(), "slurm");
    arguments.insert(arguments.end(), {"--output", "-"});
    const Outcome slurm = w.done(arguments);
    CHECK(slurm.out.starts_with("#!/bin/bash\n"));
    return slurm.err;
  };
  CHECK(contains(said({"pair.toml", "--gpus-per-node", "4"}), "pair.toml:3:15: the job requests 4 GPUs"));
  CHECK(contains(said({"any.toml", "--gpus-per-node", "4", "--nproc-per-node", "1"}), "its ranks use 1"));
  CHECK(contains(said({"gpus.toml"}), "need 2 GPUs"));
  CHECK(said({"gpus.toml", "--gpus-per-node", "2"}).empty());
  CHECK(said({"any.toml", "--gpus-per-node", "4"}).empty());
  CHECK(said({"any.toml"}).empty());
  CHECK(said({"pair.toml", "--cpus-per-task", "2"}).empty());
}

TEST_CASE("a job of a file with a sweep is written with a warning that names the command for its trials") {
  const Workspace w("pair.toml", kScriptPair + "[sweep.parameters]\nseed = [1, 2]\n");
  w.done({"slurm", "pair.toml"}, {"warning: pair.toml has a [sweep]", "sweep pair.toml --array`"});
  const Outcome array = w.done({"sweep", "pair.toml", "--array", "--output", "array.sbatch"});
  CHECK(array.err.empty());
}

TEST_CASE("a job whose nodes or address Slurm does not name fails, and starts nothing") {
  const Workspace w("pair.toml", kScriptPair);
  w.done({"slurm", "pair.toml"});
  fs::create_directory(w.folder() / "bin");
  for (const std::string tool : {"srun", "squeue"}) {
    std::ofstream(w.folder() / "bin" / tool) << "#!/bin/sh\ntouch started\n";
    fs::permissions(w.folder() / "bin" / tool, fs::perms::owner_all);
  }
  const auto run_job = [&](const std::string& scontrol) {
    std::ofstream(w.folder() / "bin/scontrol") << "#!/bin/sh\n" << scontrol << "\n";
    fs::permissions(w.folder() / "bin/scontrol", fs::perms::owner_all);
    const int status = std::system(("cd '" + w.folder().string() +
                                    "' && SLURM_JOB_ID=7 SLURM_JOB_NODELIST='n[1-2]' PATH=\"$PWD/bin:$PATH\" "
                                    "bash job.sbatch >out 2>err")
                                       .c_str());
    CHECK_FALSE(fs::exists(w.folder() / "started"));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  CHECK(run_job("exit 1") == 1);
  CHECK(text_of(w.folder() / "err") == "job 7 cannot start its ranks: scontrol names no nodes for \"n[1-2]\"\n");
  CHECK(run_job("if [ \"$2\" = hostnames ]; then echo n1; echo n2; fi") == 1);
  CHECK(text_of(w.folder() / "err") == "job 7 cannot start its ranks: scontrol does not name the address of n1\n");
}

TEST_CASE("an edited script is not overwritten") {
  const Workspace w("pair.toml", kScriptPair);
  const fs::path script = w.folder() / "job.sbatch";
  w.done({"slurm", "pair.toml"});
  w.done({"slurm", "pair.toml"});  // the new script would be the same
  std::ofstream(script, std::ios::app) << "# mine\n";
  w.refused({"slurm", "pair.toml"}, {"job.sbatch: exists, and is a different script"});
  CHECK(text_of(script).ends_with("# mine\n"));
  w.done({"slurm", "pair.toml", "--force"});
  CHECK_FALSE(contains(text_of(script), "# mine"));
}

TEST_CASE("without sbatch, submitting reports it and leaves the script") {
  const Workspace w("pair.toml", kScriptPair);
  w.refused({"slurm", "pair.toml", "--submit"}, {"sbatch: cannot be started"}, {{"PATH", w.folder().string()}});
  CHECK(bash_can_read(w.folder() / "job.sbatch"));
}

}  // namespace ddp::system_test
