// Options of torchrun, mpirun, accelerate, sbatch and nccl-tests, and options of this program in the wrong place.
#include <filesystem>

#include "catch.h"
#include "looking.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

struct ForeignOption {
  std::string line;  // after "ddp-exp"; words are separated by spaces
  std::string option;
  std::string remedy;
};

const std::vector<ForeignOption> kForeignOptions = {
    // torchrun and torch.distributed.launch
    {"run tiny.toml --local-rank 0", "--local-rank", "leave it out: each rank reads RANK, LOCAL_RANK and WORLD_SIZE"},
    {"run tiny.toml --local_rank=0", "--local_rank", "leave it out: each rank reads RANK, LOCAL_RANK and WORLD_SIZE"},
    {"run tiny.toml --use_env", "--use_env", "from its environment"},
    {"run tiny.toml --rank 0", "--rank", "with its --node-rank"},
    {"run tiny.toml --world-size 2", "--world-size", "--set device_pool=2"},
    {"run tiny.toml --dist-url tcp://a:1", "--dist-url", "--set distributed.init_method=tcp://a:1"},
    {"run tiny.toml --no-python", "--no-python", "torchrun --no-python --nproc-per-node 2 ddp-exp run FILE"},
    {"run tiny.toml --tee 3", "--tee", "in logs/ of the run's folder"},
    {"run tiny.toml --rdzv_conf timeout=3", "--rdzv_conf", "ddp-exp starts its ranks by itself"},
    // mpirun, accelerate and deepspeed
    {"run tiny.toml -np 2", "-np", "--nproc-per-node 2"},
    {"run tiny.toml --hostfile hosts", "--hostfile", "starts a run on several machines: `ddp-exp run FILE --nnodes 2"},
    {"run tiny.toml --multi_gpu", "--multi_gpu", "--set device_pool=auto"},
    {"run tiny.toml --num_machines 2", "--num_machines", "--nnodes 2"},
    {"run tiny.toml --machine_rank 1", "--machine_rank", "--node-rank 1"},
    {"run tiny.toml --main_process_ip 10.0.0.1", "--main_process_ip", "--master-addr 10.0.0.1"},
    // sbatch
    {"run tiny.toml --time 30", "--time", "`ddp-exp slurm FILE --time 1:00:00` limits a job"},
    {"run tiny.toml --partition gpu", "--partition", "it is an option of `sweep` and `slurm`"},
    {"slurm tiny.toml --nnodes 2", "--nnodes", "--nodes 2"},
    {"slurm tiny.toml --node-rank 0", "--node-rank", "the job script numbers its nodes"},
    {"slurm tiny.toml --master-port 29500", "--master-port", "--port 29500"},
    {"slurm tiny.toml --nproc_per_node 2", "--nproc_per_node", "--nproc-per-node 2"},
    {"slurm tiny.toml --array 0-3", "--array", "`ddp-exp sweep FILE --array` writes an array of jobs"},
    {"slurm tiny.toml --hold", "--hold", "sbatch --hold job.sbatch"},
    {"slurm tiny.toml --begin now", "--begin", "sbatch --begin=now job.sbatch"},
    {"slurm tiny.toml --wait", "--wait", "sbatch --wait job.sbatch"},
    {"slurm tiny.toml --requeue", "--requeue", "the job script has the line #SBATCH --requeue"},
    {"slurm tiny.toml -c 4", "-c", "--cpus-per-task"},
    {"slurm tiny.toml -n 4", "-n", "--nodes times --nproc-per-node"},
    {"sweep tiny.toml --nnodes 2", "--nnodes", "a trial trains on one machine"},
    {"sweep tiny.toml --array --nodes 2", "--nodes", "a trial trains on one machine"},
    // nccl-tests, and keys of an experiment file, which comm does not read
    {"comm -b 8 -e 1M", "-b", "--sizes 8..128MiB:2"},
    {"comm -n 20", "-n", "--iterations 20"},
    {"comm --gpus 2", "--gpus", "--devices 2"},
    {"comm --set device_pool=2", "--set", "--devices 2"},
    {"comm --set distributed.timeout=5", "--set", "--timeout 5"},
    // short options that many programs have
    {"report tiny -o page.html", "-o", "here it is --output: file of the page"},
    {"export tiny -o weights.safetensors", "-o", "give OUT as a word without an option"},
    {"run tiny.toml -o out", "-o", "--results FOLDER names the folder of all runs"},
    {"list -o all.txt", "-o", "leave it out: the answer is printed"},
    {"run tiny.toml -n 2", "-n", "here it is --nproc-per-node: --nproc-per-node 2"},
    {"run tiny.toml -n digits", "-n", "here it is --name: --name digits"},
    {"sweep tiny.toml -n 20", "-n", "--set sweep.trials=N is the number of trials"},
    {"list -n 5", "-n", "here it is --limit: list at most this many"},
    {"generate tiny -n 100", "-n", "here it is --tokens: --tokens 100"},
    {"validate -f tiny.toml", "-f", "give FILE as a word without an option"},
    {"slurm tiny.toml -f", "-f", "--force overwrites a different job script"},
    {"predict tiny -f rows.csv", "-f", "give INPUT as a word without an option"},
    {"sweep tiny.toml -j 2", "-j", "here it is --jobs: --jobs 2"},
    {"list -j", "-j", "here it is --json"},
    {"list -v", "-v", "it is an option of `run`, `resume`, `fork` and `sweep`"},
    // options of another command
    {"run tiny.toml --jobs 2", "--jobs", "it is an option of `resume`, `sweep` and `plan`"},
    {"show latest --max-restarts 2", "--max-restarts", "it is an option of `run`, `resume` and `fork`"},
};

Outcome answer_to(const Workspace& w, const std::string& line) { return w.run(words_of(line), with_program_on_path()); }

}  // namespace

TEST_CASE("an option of another program, or of another command, is answered with the option here") {
  const Workspace w;
  w.write("tiny.toml", kTiny + "[sweep.parameters]\nseed = [1, 2]\n");
  for (const ForeignOption& foreign : kForeignOptions) {
    const Outcome answer = answer_to(w, foreign.line);
    INFO("ddp-exp " << foreign.line << "\n" << answer.err);
    CHECK(answer.code == 2);
    CHECK(contains(answer.err, "there is no option \"" + foreign.option + "\"\n"));
    CHECK(contains(answer.err, foreign.remedy));
    CHECK(answer.out.empty());
  }
  CHECK_FALSE(fs::exists(w.results()));
  CHECK_FALSE(fs::exists(w.folder() / "job.sbatch"));
}

TEST_CASE("an option that is given twice is named with its values") {
  const Workspace w;
  w.write("tiny.toml", kTiny);
  const Outcome twice = answer_to(w, "run tiny.toml --name a --run-id 1 --name b");
  CHECK(twice.code == 2);
  CHECK(contains(twice.err, "run: --name is given twice: \"a\", \"b\"\n  give it once"));
  const Outcome thrice = answer_to(w, "list --limit 1 --limit=2 --limit 1");
  CHECK(thrice.code == 2);
  CHECK(contains(thrice.err, "list: --limit is given 3 times: \"1\", \"2\", \"1\"\n"));
}

TEST_CASE("an option before the command, or without one, is not taken for a missing command") {
  const Workspace w;
  const Outcome before = answer_to(w, "--name other run tiny.toml");
  CHECK(before.code == 2);
  CHECK(contains(before.err, "the command is missing before \"--name\""));
  CHECK(contains(before.err, "usage: ddp-exp run [options] FILE"));
  CHECK(contains(answer_to(w, "-v").err, "the version: ddp-exp --version"));
  CHECK(contains(answer_to(w, "-V").err, "the version: ddp-exp --version"));
  const Outcome unknown = answer_to(w, "--vresion");
  CHECK(unknown.code == 2);
  CHECK(contains(unknown.err, "there is no option \"--vresion\"\n  did you mean \"--version\"?"));
}

}  // namespace ddp::system_test
