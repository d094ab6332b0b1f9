#!/usr/bin/env bash
# Without root, or without apt-get, the set-up names the missing packages and installs nothing.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

# dpkg-query of a system that has only Python and git.
mkdir "$scratch/bin"
cat >"$scratch/bin/dpkg-query" <<'FAKE'
#!/bin/sh
printf '%s installed\n' python3 git ca-certificates
printf '%s not-installed\n' ccache
exit 1
FAKE
printf '#!/bin/sh\necho "apt-get must not run" >&2; exit 1\n' >"$scratch/bin/apt-get"
chmod +x "$scratch"/bin/*

as_nobody() { if ((EUID == 0)); then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi; }

refused() {
  status=0
  as_nobody env PATH="$1" bash "$checkout/scripts/ddp-exp" run >"$out" 2>"$err" || status=$?
  expect "it stops with exit code 2: $status, $(cat "$err")" test "$status" = 2
  expect "stdout stays clean" test ! -s "$out"
  expect "nothing was fetched or built" test ! -e "$cache" -a ! -e "$checkout/build"
}

refused "$scratch/bin:$PATH"
expect_text "$err" "root"
expect_text "$err" "apt-get install -y --no-install-recommends g++ cmake ninja-build ccache pkg-config libtomlplusplus-dev"
expect "installed packages are not requested" test -z "$(grep -E ' (git|python3|ca-certificates)( |$)' "$err")"
expect "apt-get was not started" test -z "$(grep 'must not run' "$err")"

# A system without Debian's tools: PATH has only the programs that the script itself needs.
mkdir "$scratch/other"
for program in bash env dirname readlink uname cksum cat nproc; do
  ln -s "$(command -v "$program")" "$scratch/other/$program"
done
refused "$scratch/other"
expect_text "$err" "apt-get"
for word in g++ cmake ninja tomlplusplus spdlog nlohmann_json; do expect_text "$err" "$word"; done
