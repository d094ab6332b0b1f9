#!/usr/bin/env bash
# Two first calls at once: the second waits, says so, and finds everything done.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

# Every download is recorded, and waits until the test lets it continue.
mkfifo "$scratch/started" "$scratch/go"
python_that "if [[ \"\$*\" == *'pip download'*libtorch.txt* ]]; then
  echo x >>'$scratch/downloads'; echo >'$scratch/started'; read -r <'$scratch/go'; fi"

"$checkout/scripts/ddp-exp" run one >"$scratch/out1" 2>"$scratch/err1" &
first=$!
read -r <"$scratch/started"
"$checkout/scripts/ddp-exp" run two >"$scratch/out2" 2>"$scratch/err2" &
second=$!
until grep -q "waiting for another set-up" "$scratch/err2"; do
  kill -0 "$second" || die "the second did not wait: $(cat "$scratch/err2")"
done
echo >"$scratch/go"
expect "the first succeeds: $(cat "$scratch/err1")" wait "$first"
expect "the second succeeds: $(cat "$scratch/err2")" wait "$second"
expect_text "$scratch/out1" "[one]"
expect_text "$scratch/out2" "[two]"
expect "LibTorch was fetched once" test "$(wc -l <"$scratch/downloads")" = 1

# The program itself must not hold a lock: a long run would block all other calls.
cat >"$checkout/cmake/program.sh" <<PROGRAM
flock -n "$checkout/build/.lock" true && flock -n "$cache/lock" true && echo free
PROGRAM
ddp_exp run
expect_text "$out" "free"
