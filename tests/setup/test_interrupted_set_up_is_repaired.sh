#!/usr/bin/env bash
# kill -9 at every critical point: no incomplete part looks complete, and the next call repairs it.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

# Runs the command as the leader of its own session, so `kill -9 0` inside ends all of it and nothing else.
interrupted() {
  if setsid -w "$checkout/scripts/ddp-exp" "$@" >"$out" 2>"$err"; then die "it was not interrupted"; fi
}

# shellcheck disable=SC2016
python_that '[[ "$*" != *"pip download"* ]] || { mkdir -p "${!#}"; echo half >"${!#}/torch.whl"; kill -9 0; }'
interrupted run
expect "no LibTorch after half a download" test ! -e "$cache/libtorch-2.11.0"

python_that '[[ "$*" != *"wheels.py unpack"* ]] || { /usr/bin/python3 "$@"; kill -9 0; }'
interrupted run
expect "no LibTorch before its marker is written" test ! -e "$cache/libtorch-2.11.0"

unset DDP_PYTHON
touch "$checkout/kill-build"
interrupted run
expect "LibTorch was fetched this time: $(cat "$err")" test -e "$cache/libtorch-2.11.0/.complete-libtorch"
expect "the compiler was killed in the middle" grep -q broken "$checkout/build/release/bin/ddp-exp"
rm "$checkout/kill-build"

ddp_exp run
expect_text "$out" "models: linear "
expect "the files of the killed calls are gone" test -z "$(find "$cache" -name 'tmp.*')"

# The GPU libraries go into a folder that is in use: they count only once all of them are present.
python_that '[[ "$*" != *"wheels.py merge"* ]] || { /usr/bin/python3 "$@"; kill -9 0; }'
interrupted --cuda run
expect "no GPU libraries before their marker" test ! -e "$cache/libtorch-2.11.0/.complete-cuda"
unset DDP_PYTHON
ddp_exp --cuda run
expect_text "$out" "models: linear "
expect "the GPU libraries are there: $(cat "$err")" test -e "$cache/libtorch-2.11.0/nvidia/nccl/lib/libnccl.so.2"
expect "and count" test -e "$cache/libtorch-2.11.0/.complete-cuda"
