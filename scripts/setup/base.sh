# The common part of the set-up: paths, messages, and the lock between two set-ups.
# The scripts in scripts/ source this file; they set `root` (the checkout) first.
# shellcheck shell=bash

if [[ -z "${XDG_CACHE_HOME:-}" && -z "${HOME:-}" ]]; then
  echo "ddp-exp: neither HOME nor XDG_CACHE_HOME is set; one of them is needed to store LibTorch" >&2
  exit 2
fi
cache="${XDG_CACHE_HOME:-$HOME/.cache}/ddp-exp"
libtorch="$cache/libtorch-2.11.0"
if [[ -n "${DDP_LIBTORCH:-}" ]]; then libtorch=$(realpath -m "$DDP_LIBTORCH"); fi
# A folder that scripts/fetch filled: all wheels and packages come from it, and nothing from a network.
if [[ -n "${DDP_WHEELS:-}" ]]; then DDP_WHEELS=$(realpath -m "$DDP_WHEELS"); fi
# Folders of packages for this Python; fetch_python and fetch_packages set them.
python_layer="" packages_layer=""
sample_data="$cache/data"
# Files and folders to copy into data/ of the checkout.
sample_names=(iris.csv breast_cancer.parquet diabetes.csv digits_images)
arrow="$cache/arrow-26.0.1"
build="$root/build/release"
requirements="$root/scripts/requirements"
# The system's Python, not the first one in PATH: the packages below install this Python, and the fetched wheels fit it.
python="${DDP_PYTHON:-/usr/bin/python3}"

# A step that ^C killed must not look like a failed step.
trap 'exit 130' INT

# stdout belongs to the program, so all messages of the set-up go to stderr.
say() { printf 'ddp-exp: %s\n' "$*" >&2; }

# fail CODE LINE...: code 2 = the user has to do something first, 1 = a step failed.
fail() {
  local code=$1
  shift
  printf 'ddp-exp: %s\n' "$@" >&2
  exit "$code"
}

# lock FILE: holds the lock until `unlock` or the end of this process. Children inherit it on purpose: a compiler or pip
# that outlives a killed set-up must end before the next set-up touches the same folder.
lock() {
  mkdir -p "$(dirname "$1")" || fail 2 "cannot write to $(dirname "$1")"
  exec {lock_descriptor}>>"$1" || fail 2 "cannot write to $1"
  if ! flock -n "$lock_descriptor"; then
    say "waiting for another set-up to finish ($1)"
    flock "$lock_descriptor"
  fi
}

unlock() { exec {lock_descriptor}>&-; }

# True if a GPU can be used: that needs the driver, but no CUDA toolkit.
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
