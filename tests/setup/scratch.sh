# A small checkout that the set-up scripts set up for real, in seconds and without a network: the real scripts and
# presets, wheels of a few bytes, and a program that is a shell script. Sourced by the tests.
#   $checkout   its root, $checkout/scripts/ddp-exp the command     $cache   where it fetches to
# shellcheck shell=bash
set -euo pipefail

source_root=${DDP_SOURCE:-$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
checkout=$scratch/checkout
cache=$scratch/cache/ddp-exp

unset DDP_LIBTORCH DDP_PYTHON DDP_PYTHONPATH DDP_TOOLS
export XDG_CACHE_HOME=$scratch/cache
export PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1 PIP_FIND_LINKS=$scratch/wheels

die() {
  printf 'FAILED: %s\n' "$@"
  exit 1
}

# expect WHAT COMMAND...: the command succeeds.
expect() {
  local what=$1
  shift
  "$@" || die "$what"
}

expect_text() { grep -qF -- "$2" "$1" || die "'$2' is missing in:" "$(cat "$1")"; }

# wheel NAME VERSION LAYER FILE...: a wheel with these files, pinned in a layer's list. A file of the same name in
# $scratch/contents gives the content.
wheel() {
  local file=$scratch/wheels/${1//-/_}-$2-py3-none-any.whl
  /usr/bin/python3 -I - "$file" "${1//-/_}-$2.dist-info" "$1" "$2" "$scratch/contents" "${@:4}" <<'PYTHON'
import pathlib, sys, zipfile
path, info, name, version, contents, *files = sys.argv[1:]
with zipfile.ZipFile(path, "w") as wheel:
    for file in files:
        given = pathlib.Path(contents, file)
        wheel.writestr(file, given.read_bytes() if given.exists() else f"__version__ = '{version}'\n")
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{info}/RECORD", "")
PYTHON
  printf '%s==%s --hash=sha256:%s\n' "$1" "$2" "$(sha256sum "$file" | cut -d ' ' -f 1)" \
    >>"$checkout/scripts/requirements/$3.txt"
}

make_checkout() {
  mkdir -p "$checkout"/{cmake,runner,models,datasets,python,scripts/requirements} "$scratch/wheels"
  cp -r "$source_root/scripts/setup" "$source_root/scripts/ddp-exp" "$source_root/scripts/test" \
    "$source_root/scripts/soak" "$checkout/scripts"
  cp "$source_root/CMakePresets.json" "$checkout"
  wheel torch 2.11.0 libtorch torch/lib/libtorch_cpu.so torch/version.py
  wheel nvidia-cuda-runtime 13.0.96 libtorch nvidia/cu13/lib/libcudart.so.13
  wheel nvidia-nccl 2.28.9 cuda nvidia/nccl/lib/libnccl.so.2 nvidia/cu13/lib/libcublas.so.13
  wheel numpy 2.4.6 python numpy/__init__.py
  wheel tensorboard 2.21.0 tools tensorboard/__init__.py
  wheel pandas 3.1.1 data pandas/__init__.py
  wheel pillow 13.0.0 pillow PIL/__init__.py
  local data=sklearn/datasets/data
  mkdir -p "$scratch/contents/$data"
  printf '2,4,setosa,virginica\n5.1,3.5,1.4,0.2,0\n5.9,3.0,5.1,1.8,1\n' >"$scratch/contents/$data/iris.csv"
  printf '1,30,malignant,benign\n%s1\n' "$(printf '0.5,%.0s' {1..30})" >"$scratch/contents/$data/breast_cancer.csv"
  printf '59 2 32.1 101.0 157 93.2 38.0 4.0 4.8598 87\n' | gzip >"$scratch/contents/$data/diabetes_data_raw.csv.gz"
  printf '%s3\n' "$(printf '16.0,%.0s' {1..64})" | gzip >"$scratch/contents/$data/digits.csv.gz"
  printf '1.51e+02\n' | gzip >"$scratch/contents/$data/diabetes_target.csv.gz"
  wheel scikit-learn 1.7.2 digits "$data"/{digits.csv.gz,iris.csv,breast_cancer.csv,diabetes_data_raw.csv.gz,diabetes_target.csv.gz}
  wheel pyarrow 26.0.1 tables pyarrow/include/arrow/api.h pyarrow/libarrow.so.2600 pyarrow/libparquet.so.2600 pyarrow/libarrow_s3.so.2600 \
    pyarrow/lib.cpython-311-x86_64-linux-gnu.so
  cat >"$checkout/models/model.txt" <<<"linear"
  # The program: prints its models and its arguments.
  cat >"$checkout/cmake/program.sh" <<'PROGRAM'
#!/bin/sh
echo "models: MODELS"
echo "called in $PWD with $# arguments:"
[ $# -eq 0 ] || printf '[%s]\n' "$@"
[ "${1:-}" != fail ] || exit 7
PROGRAM
  cat >"$checkout/cmake/build.sh" <<'BUILD'
echo "compiler ran"
[ ! -e "$2/kill-build" ] || { echo broken >"$1"; kill -9 0; }
sed "s/MODELS/$(cat "$2"/models/*.txt | tr '\n' ' ')/" "$2/cmake/program.sh" >"$1"
chmod +x "$1"
BUILD
  cat >"$checkout/cmake/tables.sh" <<<'library=$1; shift; cat "$@" >"$library"'
  cat >"$checkout/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(ddp-exp LANGUAGES NONE)
file(WRITE "${CMAKE_BINARY_DIR}/compile_commands.json" "[]")
if(NOT EXISTS "${DDP_LIBTORCH}/torch/lib/libtorch_cpu.so")
  message(FATAL_ERROR "no LibTorch in ${DDP_LIBTORCH}")
endif()
file(GLOB models CONFIGURE_DEPENDS models/*.txt)
add_custom_command(OUTPUT bin/ddp-exp COMMAND sh ${CMAKE_SOURCE_DIR}/cmake/build.sh bin/ddp-exp ${CMAKE_SOURCE_DIR} ${models}
  DEPENDS ${models} cmake/build.sh cmake/program.sh)
add_custom_target(program ALL DEPENDS bin/ddp-exp)
file(REMOVE "${CMAKE_BINARY_DIR}/bin/libddp_tables.so" "${CMAKE_BINARY_DIR}/bin/libddp_images.so"
  "${CMAKE_BINARY_DIR}/bin/libddp_serve.so" "${CMAKE_BINARY_DIR}/bin/libddp_objects.so")
file(GLOB tables CONFIGURE_DEPENDS runner/*.txt)
if(DDP_IMAGES)
  add_custom_command(OUTPUT bin/libddp_images.so COMMAND sh ${CMAKE_SOURCE_DIR}/cmake/tables.sh bin/libddp_images.so
    ${CMAKE_SOURCE_DIR}/cmake/tables.sh ${tables} DEPENDS ${tables})
  add_custom_target(images ALL DEPENDS bin/libddp_images.so)
endif()
if(DDP_OBJECTS)
  add_custom_command(OUTPUT bin/libddp_objects.so COMMAND sh ${CMAKE_SOURCE_DIR}/cmake/tables.sh bin/libddp_objects.so
    ${CMAKE_SOURCE_DIR}/cmake/tables.sh ${tables} DEPENDS ${tables})
  add_custom_target(objects ALL DEPENDS bin/libddp_objects.so)
endif()
if(DDP_SERVE)
  add_custom_command(OUTPUT bin/libddp_serve.so COMMAND sh ${CMAKE_SOURCE_DIR}/cmake/tables.sh bin/libddp_serve.so
    ${CMAKE_SOURCE_DIR}/cmake/tables.sh ${tables} DEPENDS ${tables})
  add_custom_target(serve ALL DEPENDS bin/libddp_serve.so)
endif()
if(DDP_ARROW)
  add_custom_command(OUTPUT bin/libddp_tables.so COMMAND sh ${CMAKE_SOURCE_DIR}/cmake/tables.sh bin/libddp_tables.so
    ${DDP_ARROW}/pyarrow/include/arrow/api.h ${tables} DEPENDS ${tables})
  add_custom_target(tables ALL DEPENDS bin/libddp_tables.so)
endif()
CMAKE
}

# A Python that runs $1 (shell code; "$@" = Python's arguments) before the real one starts.
python_that() {
  printf '#!/bin/bash\n%s\nexec /usr/bin/python3 "$@"\n' "$1" >"$scratch/python"
  chmod +x "$scratch/python"
  export DDP_PYTHON=$scratch/python
}

# ddp_exp ARGUMENTS...: the command, with its output in $out and $err; status in $status.
out=$scratch/out err=$scratch/err
ddp_exp() {
  status=0
  "$checkout/scripts/ddp-exp" "$@" >"$out" 2>"$err" || status=$?
}

make_checkout
