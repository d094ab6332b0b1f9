# What every part of the set-up uses: where things are, how it speaks, how two of them wait for each other.
# Sourced by scripts/ddp-exp and scripts/test, which set `root` (the checkout) first.
# shellcheck shell=bash

if [[ -z "${XDG_CACHE_HOME:-}" && -z "${HOME:-}" ]]; then
  echo "ddp-exp: neither HOME nor XDG_CACHE_HOME is set: there is no place for LibTorch" >&2
  exit 2
fi
cache="${XDG_CACHE_HOME:-$HOME/.cache}/ddp-exp"
libtorch="$cache/libtorch-2.11.0"
if [[ -n "${DDP_LIBTORCH:-}" ]]; then libtorch=$(realpath -m "$DDP_LIBTORCH"); fi
# A folder that scripts/fetch filled: all wheels and packages come from there, and nothing from a network.
if [[ -n "${DDP_WHEELS:-}" ]]; then DDP_WHEELS=$(realpath -m "$DDP_WHEELS"); fi
# Set by fetch_python and fetch_packages, to a folder of packages for this Python.
python_layer="" packages_layer=""
sample_data="$cache/data"
# Files and folders that are copied into data/ of the checkout.
sample_names=(iris.csv breast_cancer.parquet diabetes.csv digits_images)
arrow="$cache/arrow-26.0.1"
build="$root/build/release"
requirements="$root/scripts/requirements"
# The system's Python, not the first one in PATH: it is the one that the packages below install, and the wheels that
# are fetched fit this one.
python="${DDP_PYTHON:-/usr/bin/python3}"

# What is killed by ^C must not look as if a step had failed by itself.
trap 'exit 130' INT

# stdout belongs to the program, so everything that the set-up has to say goes to stderr.
say() { printf 'ddp-exp: %s\n' "$*" >&2; }

# fail CODE LINE...: 2 = something that the user has to do first, 1 = a step went wrong.
fail() {
  local code=$1
  shift
  printf 'ddp-exp: %s\n' "$@" >&2
  exit "$code"
}

# lock FILE: holds it until `unlock` or the end of this process. Children inherit it on purpose: a compiler or pip
# that outlives a killed set-up must have ended before the next one touches the same folder.
lock() {
  mkdir -p "$(dirname "$1")" || fail 1 "cannot write to $(dirname "$1")"
  exec {lock_descriptor}>>"$1" || fail 1 "cannot write to $1"
  if ! flock -n "$lock_descriptor"; then
    say "waiting for another set-up to finish ($1)"
    flock "$lock_descriptor"
  fi
}

unlock() { exec {lock_descriptor}>&-; }

# A GPU that can be used: the driver is there, whether or not a CUDA toolkit is.
has_nvidia_driver() { [[ -e /proc/driver/nvidia/version || -e /dev/nvidiactl ]]; }

if [[ -n "${DDP_WHEELS:-}" && ! -d "$DDP_WHEELS" ]]; then
  fail 2 "DDP_WHEELS=$DDP_WHEELS is not a folder: make it with scripts/fetch on a machine with a network"
fi

# shellcheck source=packages.sh
. "$root/scripts/setup/packages.sh"
# shellcheck source=debs.sh
. "$root/scripts/setup/debs.sh"
# shellcheck source=fetch.sh
. "$root/scripts/setup/fetch.sh"
# shellcheck source=build.sh
. "$root/scripts/setup/build.sh"
# shellcheck source=install.sh
. "$root/scripts/setup/install.sh"
