#!/usr/bin/env bash
# A wheel with another hash than the pinned one does not enter the cache.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

echo "something else" >>"$scratch/wheels/torch-2.11.0-py3-none-any.whl"
ddp_exp run
expect "it fails: $(cat "$err")" test "$status" = 1
expect_text "$err" "could not fetch"
expect "nothing is left of it" test -z "$(find "$cache" -name 'libtorch-*' -o -name 'tmp.*')"
