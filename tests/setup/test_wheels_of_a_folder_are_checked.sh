#!/usr/bin/env bash
# With DDP_WHEELS the set-up uses no network, and checks the wheels of the folder like downloaded ones.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

# pip's own settings would send it to a network: no server listens there.
export PIP_CONFIG_FILE=$scratch/pip.conf
unset PIP_NO_INDEX PIP_FIND_LINKS
printf '%s\n' "[global]" "index-url = http://127.0.0.1:9/simple" "retries = 0" >"$PIP_CONFIG_FILE"
mv "$scratch/wheels" "$scratch/a folder"
cd "$scratch"

export DDP_WHEELS=nowhere
ddp_exp run
expect "a missing folder is refused: $status" test "$status" = 2
expect_text "$err" "DDP_WHEELS=$scratch/nowhere is not a folder"

DDP_WHEELS="a folder"
torch="a folder/torch-2.11.0-py3-none-any.whl"
mv "$torch" torch.whl
ddp_exp run
expect "a folder without torch is refused: $status" test "$status" = 1
expect_text "$err" "DDP_WHEELS=$scratch/a folder lacks a wheel"
expect_text "$err" "scripts/fetch"

{ cat torch.whl && echo "something else"; } >"$torch"
ddp_exp run
expect "another file of that name is refused: $status" test "$status" = 1
expect "nothing is left of it" test -z "$(find "$cache" -name 'libtorch-*' -o -name 'tmp.*')"

mv torch.whl "$torch"
ddp_exp run one
expect "it is set up: $(cat "$err")" test "$status" = 0
expect_text "$out" "[one]"
expect "the folder keeps its wheels" test -e "$torch"
