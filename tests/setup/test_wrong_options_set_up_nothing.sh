#!/usr/bin/env bash
# A misspelt option of the set-up is refused with the nearest one, and --help shows the options without a build.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

cd "$scratch"
# refused_with TEXT ARGUMENTS...: exit code 2, the text on stderr, and no build.
refused_with() {
  local text=$1
  shift
  ddp_exp "$@"
  expect "\"$*\" is refused: $(cat "$err")" test "$status" = 2
  expect_text "$err" "$text"
  expect "\"$*\" builds nothing" test ! -e "$checkout/build/release/bin/ddp-exp"
  expect "\"$*\" installs nothing" test ! -e "$scratch/prefix"
}

refused_with "did you mean --with-libtorch?" --install prefix --with-libtorc
refused_with "did you mean --install?" --instal prefix
refused_with "did you mean --cuda?" --cude --setup-only
refused_with "did you mean --setup-only?" --setup run
refused_with "they are --setup-only --cuda --obtain --install --with-libtorch" --gpu run
refused_with "stand behind it: $checkout/scripts/ddp-exp run FILE --name NAME" --name other run
refused_with '"run" is one too many' --install prefix run

ddp_exp --help
expect "--help succeeds without a build: $(cat "$err")" test "$status" = 0
expect_text "$out" "is not built yet"
for option in --setup-only --cuda "--obtain tables" "--install PREFIX" --with-libtorch DDP_WHEELS; do
  expect_text "$out" "$option"
done
expect "--help shows no code" test -z "$(grep -F 'set -euo' "$out")"
expect "--help builds nothing" test ! -e "$checkout/build/release/bin/ddp-exp"

ddp_exp --setup-only
ddp_exp --help
expect_text "$out" "[--help]"
expect_text "$out" "--install PREFIX"
