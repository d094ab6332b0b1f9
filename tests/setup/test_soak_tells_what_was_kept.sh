#!/usr/bin/env bash
# scripts/soak runs one part or all parts, continues after a part that fails, and ends with the result of each.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

cat >>"$checkout/CMakeLists.txt" <<'CMAKE'
add_custom_target(ddp_tests)
CMAKE

# A system with all packages that soak needs.
mkdir "$scratch/bin"
# shellcheck disable=SC2016 # the fake expands it
printf '#!/bin/sh\nfor package; do echo "$package installed"; done\n' >"$scratch/bin/dpkg-query"
chmod +x "$scratch/bin/dpkg-query"
PATH=$scratch/bin:$PATH

# part NAME LINE: a part of soak that runs this line.
mkdir "$checkout/scripts/soak.d"
part() {
  printf '#!/bin/sh\n# Tries %s.\n%s\n' "$1" "$2" >"$checkout/scripts/soak.d/$1"
  chmod +x "$checkout/scripts/soak.d/$1"
}
part bad 'echo "3 of 4"; exit 1'
# shellcheck disable=SC2016 # the part expands it
part good 'test -x "$DDP_EXP" && test -d "$DDP_SOURCE" && test -n "$DDP_PYTHON" && echo "called with $*"'
part left 'exit 77'

# soak STATUS ARGUMENTS...
soak() {
  status=0
  "$checkout/scripts/soak" "${@:2}" >"$out" 2>"$err" || status=$?
  expect "exit code $1, not $status: $(cat "$err" "$out")" test "$status" = "$1"
}

soak 0 --list
expect_text "$out" "good         Tries good."
soak 0 good 60
expect_text "$out" "called with 60"
expect "it ends with its verdict: $(cat "$out")" grep -qx 'good: kept, [0-9]* s' <(tail -n 1 "$out")
soak 0 left
expect "a part may be skipped: $(cat "$out")" grep -qx 'left: skipped, [0-9]* s' <(tail -n 1 "$out")
soak 1
expect_text "$out" "3 of 4"
expect "all verdicts stand at the end: $(cat "$out")" test \
  "$(tail -n 3 "$out" | sed 's/, [0-9]* s//')" = $'bad: BROKEN\ngood: kept\nleft: skipped'
soak 2 gone
expect_text "$err" 'unknown part "gone"'
soak 2 ../test
