# The common part of scripts/gpu-check and scripts/gpu-bench.
# shellcheck shell=bash

# prepare_for_gpus NAME ARGUMENT...: exports DDP_EXP; fetches and builds unless it is given, and then sets DDP_PYTHON for
# a GPU. Ends the script NAME with 2 if there is no GPU; with --rehearse in the arguments none is needed.
prepare_for_gpus() {
  local name=$1
  export DDP_SOURCE="$root" PYTHONDONTWRITEBYTECODE=1
  if [[ " $* " != *" --rehearse "* && ! -e /dev/nvidiactl && ! -e /dev/dxg ]]; then
    echo "$name: this machine has no NVIDIA GPU (--rehearse runs what a CPU can run)" >&2
    exit 2
  fi
  if [[ -n ${DDP_EXP:-} ]]; then
    use_given
    return
  fi
  # shellcheck source=base.sh
  . "$root/scripts/setup/base.sh"
  if [[ " $* " == *" --rehearse "* ]]; then
    "$root/scripts/ddp-exp" --setup-only
  else
    "$root/scripts/ddp-exp" --cuda --setup-only
    if [[ -z ${DDP_PYTHON:-} ]]; then fetch_data; fi
  fi
  export DDP_EXP=$root/build/release/bin/ddp-exp
}

# Makes the given paths absolute, because checks start programs in other folders. Takes the table of digits, which some
# experiments need, from scikit-learn in DDP_PYTHON.
use_given() {
  DDP_EXP=$(realpath -- "$DDP_EXP")
  if [[ -n ${DDP_LIBTORCH:-} ]]; then DDP_LIBTORCH=$(realpath -- "$DDP_LIBTORCH"); fi
  # The Python of a virtual environment is a link, and another one behind it.
  if [[ ${DDP_PYTHON:-} == */* ]]; then DDP_PYTHON=$(realpath -s -- "$DDP_PYTHON"); fi
  local digits=${XDG_CACHE_HOME:-$HOME/.cache}/ddp-exp/data/digits.csv.gz
  if [[ -e $digits || -z ${DDP_PYTHON:-} ]]; then return; fi
  local find='import importlib.util as i; print(*i.find_spec("sklearn").submodule_search_locations)'
  local sklearn
  if sklearn=$(PYTHONPATH=${DDP_PYTHONPATH:-} "$DDP_PYTHON" -c "$find" 2>/dev/null); then
    mkdir -p "${digits%/*}"
    cp "$sklearn/datasets/data/digits.csv.gz" "$digits"
  fi
}
