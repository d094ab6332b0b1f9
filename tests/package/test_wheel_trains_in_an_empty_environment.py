"""pip installs the wheel beside torch 2.11.0, and its ddp-exp trains to the same bits as the checkout's program."""

import json
import os
import pathlib
import re
import tempfile

import installing


def weights(results):
    return (results / "basic/latest/checkpoints/latest/model.safetensors").read_bytes()


def trains_as_the_checkout(program, experiments, folder):
    installing.run([os.environ["DDP_EXP"], "run", experiments / "basic.toml"], cwd=folder,
                   env=os.environ | {"OMP_NUM_THREADS": "1"})
    expected = weights(folder / "results")
    elsewhere = folder / "else where"
    elsewhere.mkdir()
    installing.run_elsewhere([program, "run", experiments / "basic.toml"], elsewhere)
    summary = json.loads((elsewhere / "results/basic/latest/summary.json").read_text())
    assert (summary["status"], summary["epochs"]) == ("completed", 10), summary
    assert weights(elsewhere / "results") == expected, "the package trains other bits than the checkout"


def find_package_finds_it(packages, project):
    project.mkdir()
    (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES CXX)\n"
                                            "find_package(ddp-exp REQUIRED)\n"
                                            "get_target_property(folders ddp-exp::component INTERFACE_INCLUDE_DIRECTORIES)\n"
                                            "message(STATUS \"headers: ${folders}\")\n")
    said = installing.run_elsewhere(["cmake", "-S", project, "-B", project / "build", "-G", "Ninja",
                                     f"-Dddp-exp_DIR={packages / 'ddp_exp/cmake'}"], project)
    assert f"headers: {packages / 'ddp_exp/include'};" in said and f";{packages / 'torch/include'};" in said, said


def messages_name_nothing_of_the_checkout(program, experiments, folder):
    said = installing.run_elsewhere([program, "run", experiments / "digits.toml"], folder, code=2)
    assert "the digits dataset is missing" in said and "pip install scikit-learn" in said, said
    assert "scripts/" not in said, said


def digits_come_with_scikit_learn(program, experiments, packages, folder):
    data = packages / "sklearn/datasets/data"
    data.mkdir(parents=True)
    (data / "digits.csv.gz").write_bytes(DIGITS.read_bytes())
    installing.run_elsewhere([program, "run", experiments / "digits.toml", "--set", "epochs=1"], folder)


def another_torch_is_refused(environment, program, experiments, packages, folder):
    """Another torch is installed by force over the right one: the program reports it before it loads it."""
    (packages / "torch").unlink()
    (packages / "torch/lib").mkdir(parents=True)
    (packages / "torch/lib/libtorch_cpu.so").write_text("")
    (packages / "torch/version.py").write_text("__version__ = '2.11.01+cu130'\n")
    said = installing.run_elsewhere([program, "run", experiments / "basic.toml"], folder, code=2)
    assert "is not torch 2.11.0" in said and str(packages / "torch") in os.path.normpath(said), said


def torch_of_the_system_is_found(wheel, folder):
    """An environment that sees torch in another folder through a .pth file, as with --system-site-packages."""
    environment, other = folder / "second", folder / "first"
    site = installing.environment(other)
    installing.run([installing.PYTHON, "-I", "-m", "venv", "--without-pip", environment])
    (next((environment / "lib").glob("python3*")) / "site-packages/other.pth").write_text(f"{site}\n")
    installing.pip_install(environment, "--no-deps", wheel)
    experiments = environment / "share/ddp-exp/experiments"
    installing.run_elsewhere([environment / "bin/ddp-exp", "run", experiments / "basic.toml"], folder)


def main(folder):
    wheel, _ = installing.pack(folder / "dist")
    environment = folder / "environment"
    packages = installing.environment(environment)
    # Includes pip's check of the dependencies.
    installing.pip_install(environment, wheel)
    program, experiments = environment / "bin/ddp-exp", environment / "share/ddp-exp/experiments"

    version = installing.run_elsewhere([program, "--version"], folder)
    assert re.match(rf"ddp-exp {wheel.name.split('-')[1]}\+", version), version
    installing.check_libraries(packages / "ddp_exp")
    installing.check_headers(packages / "ddp_exp")
    find_package_finds_it(packages, folder / "project")
    assert (environment / "share/man/man1/ddp-exp.1").exists()
    assert (environment / "share/bash-completion/completions/ddp-exp").exists()
    trains_as_the_checkout(program, experiments, folder)
    # By a symbolic link, as pipx makes one.
    (folder / "link").symlink_to(program)
    assert installing.run_elsewhere([folder / "link", "--version"], folder) == version
    messages_name_nothing_of_the_checkout(program, experiments, folder)
    if DIGITS.exists():
        digits_come_with_scikit_learn(program, experiments, packages, folder)
    torch_of_the_system_is_found(wheel, folder)
    another_torch_is_refused(environment, program, experiments, packages, folder)


DIGITS = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "ddp-exp/data/digits.csv.gz")

if __name__ == "__main__":
    installing.require_release_build()
    with tempfile.TemporaryDirectory() as scratch:
        main(pathlib.Path(scratch).resolve())
