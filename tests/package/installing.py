"""Packages of this build's program, installed in a place without access to the checkout."""

import functools
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["DDP_SOURCE"])
BUILD = pathlib.Path(os.environ["DDP_EXP"]).parent.parent
TORCH = pathlib.Path(os.environ["DDP_TORCH"])  # torch/ and nvidia/, with pip's metadata
PYTHON = "/usr/bin/python3"  # the system's Python; the set-up installs its pip
NOBODY = 65534
# The libraries that a package takes from the system.
OF_THE_SYSTEM = ("linux-vdso", "ld-linux", "libc.", "libm.", "libdl.", "librt.", "libpthread.", "libutil.", "libgcc_s.",
                 "libstdc++.")


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def require_release_build():
    if "CMAKE_BUILD_TYPE:STRING=Release" not in (BUILD / "CMakeCache.txt").read_text():
        skip("only a Release build is packed")


def run(command, **options):
    """Runs a command and returns its stdout, or its stderr if `code` is not 0. Fails with all output if the exit code
    is not `code`."""
    code = options.pop("code", 0)
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          **options)
    assert done.returncode == code, f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stderr if code else done.stdout


def pack(folder):
    """The wheel and the archive of this build."""
    made = run([PYTHON, "-I", "-B", SOURCE / "scripts/setup/package/package.py", BUILD, folder])
    return [pathlib.Path(line) for line in made.splitlines()]


def install(prefix):
    """Installs this build there, as scripts/ddp-exp --install does. Returns the prefix."""
    run([PYTHON, "-I", "-B", SOURCE / "scripts/setup/package/install.py", BUILD, prefix])
    return prefix


@functools.cache
def can_hide_folders():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


def run_elsewhere(command, folder, code=0, **environment):
    """Runs a command in that folder with only this environment, and, if the system allows it, without the checkout's
    build."""
    command = ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={folder}", "OMP_NUM_THREADS=1",
               *(f"{name}={value}" for name, value in environment.items()), *command]
    if can_hide_folders():
        hide = 'mount -t tmpfs none "$1" && shift && exec "$@"'
        command = ["unshare", "-m", "sh", "-c", hide, "sh", BUILD, *command]
    return run(command, cwd=folder, code=code)


def as_a_stranger(command, prefix, folder):
    """Runs a command in that folder with the prefix mounted read-only, as another user if this user may switch.
    LibTorch is in the prefix, wherever it lies on this machine. Returns stdout."""
    if not can_hide_folders():
        for name in ("torch", "nvidia"):
            if not (prefix / "lib" / name).exists():
                (prefix / "lib" / name).symlink_to(TORCH / name)
        return run_elsewhere(command, folder)
    for name in ("torch", "nvidia"):
        (prefix / "lib" / name).mkdir(exist_ok=True)
    os.chown(folder, NOBODY, NOBODY)
    mounts = 'for name in torch nvidia; do mount --rbind "$2/$name" "$1/lib/$name"; done; '
    mounts += 'mount --rbind "$1" "$1" && mount -o remount,bind,ro "$1" && shift 2 && '
    mounts += f'exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups "$@"'
    return run_elsewhere(["unshare", "-m", "sh", "-ec", mounts, "sh", prefix, TORCH, *command], folder)


def check_libraries(folder):
    """No library of the package names the build, and each one finds its dependencies in the package, in torch, or in
    the system's C and C++ libraries."""
    for file in [folder / "ddp-exp", *folder.glob("lib*.so*")]:
        dynamic = run(["readelf", "-dW", file])
        paths = [line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "PATH)" in line]
        assert all(part.startswith("$ORIGIN") for path in paths for part in path.split(":")), (file, paths)
    for file in (folder / "ddp-exp", folder / "libddp_rank.so"):
        for line in run_elsewhere(["ldd", file], folder).splitlines():
            name, _, place = line.strip().partition(" => ")
            name = pathlib.Path(name.split()[0]).name
            if name.startswith(OF_THE_SYSTEM):
                continue
            assert place and "not found" not in place, line
            path = os.path.abspath(place.split(" (")[0])
            assert pathlib.Path(path).is_relative_to(folder.parent), f"{file.name} takes it from outside: {line}"


def check_headers(folder):
    """sdk.json beside the program names existing folders of headers and nothing of the checkout."""
    text = (folder / "sdk.json").read_text()
    assert str(SOURCE) not in text, text
    own = [folder / include for include in json.loads(text)["includes"] if not include.startswith("${torch}/")]
    for header in ("models/model.h", "datasets/dataset.h", "train/loss/loss.h", "nlohmann/json.hpp"):
        assert any((include / header).exists() for include in own), (header, own)


def requirements_of(folder):
    """Returns the requirements of the packages in a folder that pip finds unmet: names with versions that would do."""
    sys.path.append(str(pathlib.Path(run([PYTHON, "-I", "-c", "import pip; print(pip.__path__[0])"]).strip()) / ".."))
    from pip._vendor.packaging.requirements import Requirement
    from pip._vendor.packaging.utils import canonicalize_name

    present = {canonicalize_name(d.metadata["Name"]) for d in importlib.metadata.distributions(path=[str(folder)])}
    missing = {}
    for distribution in importlib.metadata.distributions(path=[str(folder)]):
        for line in distribution.requires or []:
            wanted = Requirement(line)
            if canonicalize_name(wanted.name) in present or not (wanted.marker is None or
                                                                 wanted.marker.evaluate({"extra": ""})):
                continue
            bounds = [s.version for s in wanted.specifier if s.operator in ("==", ">=", "~=")]
            missing[wanted.name] = bounds[0] if bounds else "1.0"
    return missing


def environment(folder):
    """An empty virtual environment with torch, linked because it is 2 GB. Dependencies of torch that this machine has
    not fetched are present only by name: nothing loads them here."""
    run([PYTHON, "-I", "-m", "venv", "--without-pip", folder])
    packages = next((folder / "lib").glob("python3*")) / "site-packages"
    for entry in TORCH.iterdir():
        if not entry.name.startswith("."):
            (packages / entry.name).symlink_to(entry)
    for name, version in requirements_of(packages).items():
        info = packages / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return packages


def pip_install(environment, *words, **options):
    """Installs from no index and no other folder, for any pip settings of this machine."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return run([PYTHON, "-I", "-m", "pip", "--python", environment / "bin/python3", "install", "--no-index",
                "--disable-pip-version-check", *words], env=bare | {"PIP_CONFIG_FILE": "/dev/null"}, **options)
