"""The trials of bench/sweep.py with PyTorch's Python: the toy model, 20 steps of random batches, a checkpoint.

    sweep_peer.py trial LR FOLDER          one trial, for a shell loop
    sweep_peer.py optuna TRIALS FOLDER     all trials in this process, one after the other
    sweep_peer.py ray TRIALS FOLDER        all trials with Ray Tune, two at a time
"""

import os
import sys

STEPS, BATCH = 20, 20


def train(lr, folder):
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(42)
    model = torch.nn.Sequential(torch.nn.Linear(10, 10), torch.nn.ReLU(), torch.nn.Linear(10, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(STEPS):
        inputs, targets = torch.randn(BATCH, 10), torch.randn(BATCH, 5)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
    os.makedirs(folder, exist_ok=True)
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loss": loss.item()}
    torch.save(state, os.path.join(folder, "checkpoint.pt"))
    return loss.item()


def optuna(trials, folder):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial):
        return train(trial.suggest_float("lr", 1e-4, 0.1, log=True), os.path.join(folder, str(trial.number)))

    study = optuna.create_study()
    study.optimize(objective, n_trials=trials)
    print(study.best_trial.number)


def ray(trials, folder):
    import ray
    from ray import tune

    # Ray's workers receive this file's function by value. Usage statistics and the dashboard are off.
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False,
        _temp_dir=os.path.join(os.environ["TMPDIR"], "r"))  # fmt: skip

    def trainable(config):
        import tempfile

        with tempfile.TemporaryDirectory() as scratch:
            loss = train(config["lr"], scratch)
            tune.report({"loss": loss}, checkpoint=tune.Checkpoint.from_directory(scratch))

    results = tune.Tuner(
        tune.with_resources(trainable, {"cpu": 1}),
        param_space={"lr": tune.loguniform(1e-4, 0.1)},
        tune_config=tune.TuneConfig(num_samples=trials, max_concurrent_trials=2, metric="loss", mode="min"),
        run_config=tune.RunConfig(storage_path=folder, verbose=0),
    ).fit()
    assert results.num_errors == 0 and len(results) == trials, results.errors
    print(results.get_best_result().path)


if __name__ == "__main__":
    if sys.argv[1] == "trial":
        train(float(sys.argv[2]), sys.argv[3])
    else:
        {"optuna": optuna, "ray": ray}[sys.argv[1]](int(sys.argv[2]), os.path.abspath(sys.argv[3]))
