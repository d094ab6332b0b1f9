#!/usr/bin/env bash
# scripts/test ends with its count, whatever became of the tests, and is green only if some passed and none failed.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

cat >>"$checkout/CMakeLists.txt" <<'CMAKE'
enable_testing()
add_custom_target(ddp_tests)
add_test(NAME good COMMAND sh -c "test -n \"$DDP_PYTHON\"")
add_test(NAME left COMMAND sh -c "exit 77")
add_test(NAME bad COMMAND sh -c "echo why it failed && exit 3")
add_test(NAME gone COMMAND ${CMAKE_BINARY_DIR}/not-there)
set_tests_properties(left PROPERTIES SKIP_RETURN_CODE 77)
CMAKE

# counted LINE STATUS ARGUMENTS...
counted() {
  status=0
  "$checkout/scripts/test" "${@:3}" >"$out" 2>"$err" || status=$?
  expect "it ends with '$1': $(cat "$err" "$out")" test "$(tail -n 1 "$out")" = "$1"
  expect "exit code $2, not $status" test "$status" = "$2"
}

counted "1 passed, 0 failed" 0 -R good
counted "1 passed, 0 failed, 1 skipped" 0 -R "good|left"
counted "1 passed, 2 failed, 1 skipped" 1
expect_text "$out" "why it failed"
counted "0 passed, 1 failed" 1 -R gone
counted "0 passed, 0 failed, 1 skipped" 1 -R left
counted "0 passed, 1 failed" 1 -R "no such test"
