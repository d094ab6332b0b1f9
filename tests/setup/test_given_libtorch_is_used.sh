#!/usr/bin/env bash
# DDP_LIBTORCH names an existing LibTorch; it must be a LibTorch of the right version.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

export DDP_LIBTORCH=$scratch/site-packages
ddp_exp run
expect "a folder without LibTorch is refused" test "$status" = 2
expect_text "$err" "holds no torch/lib/libtorch_cpu.so"

mkdir -p "$DDP_LIBTORCH/torch/lib"
touch "$DDP_LIBTORCH/torch/lib/libtorch_cpu.so"
echo "__version__ = '2.10.0+cu130'" >"$DDP_LIBTORCH/torch/version.py"
ddp_exp run
expect "another version is refused" test "$status" = 2
expect_text "$err" "2.11.0"

echo "__version__ = '2.11.0+cu130'" >"$DDP_LIBTORCH/torch/version.py"
ddp_exp run
expect "it is used: $(cat "$err")" test "$status" = 0
expect "and nothing else is fetched in its place" test ! -e "$cache/libtorch-2.11.0"
