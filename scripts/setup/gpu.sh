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
  if [[ -n ${DDP_EXP:-} ]]; then return; fi
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
