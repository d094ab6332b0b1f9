#!/usr/bin/env bash
# scripts/test always ends with its count, and succeeds only if some tests passed and none failed. The cases of a test
# program count one by one. Slow tests run with --all. PyTorch's Python and the tools of tests are fetched only for tests
# that need them.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

cat >>"$checkout/CMakeLists.txt" <<'CMAKE'
enable_testing()
add_custom_target(ddp_tests)
add_test(NAME good COMMAND sh -c "test -z \"$DDP_PYTHONPATH$DDP_TOOLS\"")
add_test(NAME python COMMAND sh -c "test -n \"$DDP_PYTHON\" -a -n \"$DDP_PYTHONPATH\"")
add_test(NAME looking COMMAND sh -c "test -n \"$DDP_PYTHON\" -a -n \"$DDP_TOOLS\"")
add_test(NAME left COMMAND sh -c "exit 77")
add_test(NAME bad COMMAND sh -c "echo why it failed && exit 3")
add_test(NAME gone COMMAND ${CMAKE_BINARY_DIR}/not-there)
add_test(NAME cases COMMAND echo "All tests passed (12 assertions in 3 test cases)")
add_test(NAME split COMMAND sh -c "echo 'test cases:  5 |  3 passed | 2 failed' && exit 2")
add_test(NAME asleep COMMAND true)
set_tests_properties(asleep PROPERTIES LABELS slow)
set_tests_properties(python PROPERTIES LABELS pytorch)
set_tests_properties(looking PROPERTIES LABELS tools)
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
expect "fetched nothing of Python's" test -z "$(ls -d "$cache"/python-* "$cache"/tools-* 2>/dev/null)"
expect "fetched no GPU libraries" test ! -e "$cache/libtorch-2.11.0/nvidia/nccl"
counted "1 passed, 0 failed" 0 -R python
expect "fetched the GPU libraries" test -e "$cache/libtorch-2.11.0/nvidia/nccl"
expect "fetched no tools" test -z "$(ls -d "$cache"/tools-* 2>/dev/null)"
counted "1 passed, 0 failed" 0 -R looking
counted "3 passed, 0 failed" 0 -R cases
counted "3 passed, 2 failed" 1 -R split
# Running all tests fetches everything, and test "good" then finds variables that it must not find.
counted "8 passed, 5 failed, 1 skipped" 1
counted "9 passed, 5 failed, 1 skipped" 1 --all
expect_text "$out" "why it failed"
counted "0 passed, 1 failed" 1 -R gone
counted "0 passed, 0 failed, 1 skipped" 1 -R left
counted "0 passed, 1 failed" 1 -R "no such test"
