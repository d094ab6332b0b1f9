#!/usr/bin/env bash
# One command leads from nothing to a running program; later calls print only the program's output.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

cd "$scratch"
ddp_exp --setup-only ignored
expect "--setup-only succeeds: $(cat "$err")" test "$status" = 0
expect "--setup-only runs nothing and leaves stdout alone" test ! -s "$out"
expect_text "$err" "fetching LibTorch 2.11.0"
expect_text "$err" "$cache/libtorch-2.11.0"
expect_text "$err" "compiler ran"
expect "the digits are there" test -s "$cache/data/digits.csv.gz"
printf '%s\n' sepal_length,sepal_width,petal_length,petal_width,species 5.1,3.5,1.4,0.2,setosa 5.9,3.0,5.1,1.8,virginica |
  cmp - "$checkout/data/iris.csv" || die "iris.csv is no plain table"
expect "the others have names, too" grep -q worst_radius "$checkout/data/breast_cancer.parquet"
expect "the target is the last column of diabetes.csv" grep -q ',87,151$' "$checkout/data/diabetes.csv"
expect "only the used files stay" test -z "$(find "$cache" -name '*.whl' -o -name 'tmp.*')"

ddp_exp run "two words" '' '*'
expect "the program ran: $(cat "$err")" test "$status" = 0
expect "the second call says nothing: $(cat "$err")" test ! -s "$err"
printf '%s\n' "models: linear " "called in $scratch with 4 arguments:" "[run]" "[two words]" "[]" "[*]" |
  cmp - "$out" || die "the program did not get its arguments as they were given"

ddp_exp fail
expect "the program's exit code is the command's" test "$status" = 7

ln -s "$checkout/scripts/ddp-exp" "$scratch/link"
expect "it can be called by a symbolic link" "$scratch/link" run >"$out" 2>&1
