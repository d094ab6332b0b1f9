#!/usr/bin/env bash
# Packages that only tests need are installed if possible; without them the other tests still run.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

cat >>"$checkout/CMakeLists.txt" <<'CMAKE'
enable_testing()
add_custom_target(ddp_tests)
add_test(NAME good COMMAND true)
CMAKE

# A system with all packages for the build but none for clusters, whose apt-get fails.
mkdir "$scratch/bin"
cat >"$scratch/bin/dpkg-query" <<'FAKE'
#!/bin/sh
for package; do case $package in slurm* | iproute2 | nftables) ;; *) echo "$package installed" ;; esac done
FAKE
printf '#!/bin/sh\necho "apt-get $*" >>%q; exit 1\n' "$scratch/apt-get.log" >"$scratch/bin/apt-get"
chmod +x "$scratch"/bin/*
PATH=$scratch/bin:$PATH

status=0
"$checkout/scripts/test" >"$out" 2>"$err" || status=$?
expect "the tests run: $(cat "$err" "$out")" test "$(tail -n 1 "$out")" = "1 passed, 0 failed" -a "$status" = 0
if ((EUID == 0)); then
  expect_text "$err" "installing 5 packages for the tests: iproute2 nftables slurmctld slurmd slurm-client"
  expect_text "$err" "the tests that need them are skipped"
  expect_text "$scratch/apt-get.log" "--no-install-recommends iproute2 nftables slurmctld slurmd slurm-client"
  rm "$scratch/apt-get.log"
  # Without root nothing is tried; running the program never requires these packages.
  chown -R nobody "$checkout" "$scratch/cache"
  status=0
  setpriv --reuid=nobody --clear-groups env "HOME=$scratch" bash "$checkout/scripts/test" >"$out" 2>"$err" || status=$?
  expect "the tests run without root: $(cat "$err" "$out")" test "$status" = 0
fi
ddp_exp run
expect "the program runs: $(cat "$err")" test "$status" = 0
expect "apt-get was not started" test ! -e "$scratch/apt-get.log"
