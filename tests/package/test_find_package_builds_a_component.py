"""An empty CMake project finds an installed ddp-exp, builds the documented model against it, and tests it. It uses no
file of the checkout and no package of this machine except the compiler."""

import json
import os
import pathlib
import re
import tempfile

import installing

PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES CXX)
find_package(ddp-exp 0.1 REQUIRED)
ddp_exp_add_component(two_layers two_layers.cpp)
add_executable(check check.cpp)
target_link_libraries(check PRIVATE two_layers)
"""

# With every installed header: each header finds its includes.
CHECK = """\
@headers@
#include <iostream>

int main() {
  auto model = ddp::models::registry().build("two_layers", {{"width", 7}}, ddp::models::Placement{});
  std::cout << model.forward(at::ones({3, 20})).sizes() << '\\n';
}
"""


def documented_model():
    page = (installing.SOURCE / "docs/experiment-file.md").read_text()
    (model,) = re.findall(r"^```cpp\n(.*?registry\(\)\.add<TwoLayersOptions>.*?)^```", page, re.M | re.S)
    return model


def write_project(folder, prefix):
    headers = sorted(str(file.relative_to(prefix / "include/ddp-exp")) for file in
                     (prefix / "include/ddp-exp").rglob("*.h"))
    assert "models/model.h" in headers and len(headers) > 20, headers
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(PROJECT)
    (folder / "two_layers.cpp").write_text(documented_model())
    (folder / "check.cpp").write_text(CHECK.replace("@headers@", "\n".join(f'#include "{name}"' for name in headers)))


def check_floors(prefix):
    """A component in a checkout has no header folder that a component of an installation lacks."""
    includes = json.loads((installing.BUILD / "bin/sdk.json").read_text())["includes"]
    seen = {name for folder in includes if not folder.startswith("${torch}") for name in os.listdir(folder)}
    assert seen == set(os.listdir(prefix / "include/ddp-exp")) - {"third_party"}, seen


def configure(folder, prefix, code=0, **environment):
    return installing.run_elsewhere(["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja",
                                     f"-DCMAKE_PREFIX_PATH={prefix}"], folder, code=code, **environment)


def main(folder):
    prefix = installing.install(folder / "pre fix")
    moved = folder / "moved pre fix"
    prefix.rename(moved)
    project = folder / "project"
    write_project(project, moved)
    installing.check_headers(moved / "lib/ddp-exp")
    check_floors(moved)

    said = configure(project, moved, code=1)
    assert "no LibTorch 2.11.0" in said and "-DDDP_LIBTORCH=" in said, said
    configure(project, moved, DDP_LIBTORCH=installing.TORCH)
    installing.run_elsewhere(["cmake", "--build", project / "build"], folder)
    assert installing.run_elsewhere([project / "build/check"], folder).strip() == "[3, 1]"

    commands = (project / "build/build.ninja").read_text()
    assert str(installing.SOURCE) not in commands.replace(str(installing.TORCH), ""), "the project sees the checkout"


if __name__ == "__main__":
    installing.require_release_build()
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as scratch:
        main(pathlib.Path(scratch).resolve())
