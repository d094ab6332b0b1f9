#!/usr/bin/env bash
# The readers of tables are fetched and built only on request; from then on every build has them.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

arrow=$cache/arrow-26.0.1 library=$checkout/build/release/bin/libddp_tables.so
ddp_exp run
expect "set up: $(cat "$err")" test "$status" = 0
expect "a plain call fetches no Arrow" test ! -e "$arrow"
expect "and builds nothing of it" test ! -e "$library"

ddp_exp --obtain tables
expect "it is obtained: $(cat "$err")" test "$status" = 0
expect "it runs nothing and leaves stdout alone" test ! -s "$out"
expect "the library is built" test -s "$library"
expect "only the needed files of the wheel are kept" \
  test "$(cd "$arrow" && find pyarrow -type f | LC_ALL=C sort | tr '\n' ' ')" = \
  "pyarrow/include/arrow/api.h pyarrow/libarrow.so.2600 pyarrow/libarrow_s3.so.2600 pyarrow/libparquet.so.2600 "

ddp_exp --obtain tables
expect "the second time nothing is to be done: $(cat "$err")" test ! -s "$err" -a "$status" = 0
ddp_exp run
expect "nor in a plain call: $(cat "$err")" test ! -s "$err" -a -s "$library"

echo "reader two" >"$checkout/runner/new.txt"
ddp_exp run
expect "a plain call builds it again if its sources changed" grep -q "reader two" "$library"

rm -r "$arrow"
ddp_exp run
expect "a cache that was deleted is filled again: $(cat "$err")" test "$status" = 0 -a -e "$arrow/pyarrow/libarrow.so.2600"

ddp_exp --obtain music
expect "an unknown name is refused with 2, not $status" test "$status" = 2
expect_text "$err" "tables objects images"
