#!/usr/bin/env bash
# A model is one more file: the next call builds it, for any date of the file, and drops it when the file is gone.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

ddp_exp --setup-only
expect "set up: $(cat "$err")" test "$status" = 0

echo mlp >"$scratch/new.txt"
touch -d 2001-01-01 "$scratch/new.txt"
mv "$scratch/new.txt" "$checkout/models/new.txt"
ddp_exp run
expect_text "$out" "models: linear mlp "
expect_text "$err" "compiler ran"

rm "$checkout/models/new.txt"
ddp_exp run
expect_text "$out" "models: linear "

ddp_exp run
expect "then it is silent again: $(cat "$err")" test ! -s "$err"

mv "$checkout" "$scratch/moved"
checkout=$scratch/moved
ddp_exp run
expect_text "$out" "models: linear "
expect "a moved checkout is set up again: $(cat "$err")" test "$status" = 0
