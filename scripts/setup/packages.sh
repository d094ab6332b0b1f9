# The Debian and Ubuntu packages that building takes, and those that only tests take.
# shellcheck shell=bash

packages=(g++ cmake ninja-build ccache pkg-config libtomlplusplus-dev libspdlog-dev nlohmann-json3-dev libcli11-dev
  catch2 libxxhash-dev libprotobuf-dev protobuf-compiler zlib1g-dev libpcre2-dev python3 python3-pip ca-certificates git)

# For libddp_images.so (fetch_images).
image_packages=(libjpeg-dev libpng-dev libdeflate-dev libwebp-dev libarchive-dev)

# For tests/cluster, tests/slurm, tests/faults, tests/system and tests/completion. What cannot be installed is done
# without: those tests are skipped, and say so.
test_packages=(iproute2 nftables slurmctld slurmd slurm-client strace gdb zsh fish)

# For tests/report. On its own, since Ubuntu has it in another form: what apt-get does not know would keep it from
# installing the others.
browser_packages=(chromium)

# For scripts/soak: libFuzzer.
soak_packages=(clang libclang-rt-dev)

install_packages() {
  [[ "$(uname -sm)" == "Linux x86_64" ]] || fail 2 "LibTorch's wheel is for Linux on x86-64; this is $(uname -sm)"
  local missing=()
  if command -v dpkg-query >/dev/null; then find_missing_packages "${packages[@]}"; else find_missing_programs; fi
  install_missing "${packages[@]}"
  check_compiler
}

# Installs the packages that libddp_images.so is built with.
fetch_images() {
  local missing=()
  if command -v dpkg-query >/dev/null; then
    find_missing_packages "${image_packages[@]}"
  else
    find_missing_modules libjpeg libpng libdeflate libwebp libarchive
  fi
  install_missing "${image_packages[@]}"
}

# install_missing PACKAGE...: those of them in `missing` of its caller, without which nothing goes on.
install_missing() {
  ((${#missing[@]} > 0)) || return 0
  local wanted=("$@")
  command -v apt-get >/dev/null || refuse "this system has no apt-get"
  ((EUID == 0)) || refuse "installing them takes root"
  say "installing ${#missing[@]} packages: ${missing[*]}"
  apt_install || refuse "apt-get could not install them"
}

install_test_packages() {
  install_optional_packages tests "${test_packages[@]}"
  install_optional_packages tests "${browser_packages[@]}"
}

install_soak_packages() { install_optional_packages "parts of soak" "${soak_packages[@]}"; }

# install_optional_packages USERS PACKAGE...
install_optional_packages() {
  ((EUID == 0)) && command -v apt-get >/dev/null && command -v dpkg-query >/dev/null || return 0
  local users=$1 missing=()
  find_missing_packages "${@:2}"
  if ((${#missing[@]} == 0)); then return; fi
  say "installing ${#missing[@]} packages for the $users: ${missing[*]}"
  apt_install || say "apt-get could not install them: the $users that need them are skipped"
}

# find_missing_packages PACKAGE...: sets `missing` of its caller.
find_missing_packages() {
  local installed package
  # dpkg-query fails when it does not know one of the names; what it does know it prints all the same.
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package; do
    [[ $'\n'"$installed"$'\n' == *$'\n'"$package installed"$'\n'* ]] || missing+=("$package")
  done
}

# Elsewhere packages have other names, but the programs and pkg-config's modules do not.
find_missing_programs() {
  local program
  for program in g++ cmake ninja pkg-config protoc python3 git; do
    command -v "$program" >/dev/null || missing+=("$program")
  done
  find_missing_modules tomlplusplus spdlog nlohmann_json libxxhash protobuf-lite libpcre2-8 zlib
  "$python" -I -m pip --version >/dev/null 2>&1 || missing+=("pip for $python")
}

# find_missing_modules MODULE...: of pkg-config.
find_missing_modules() {
  local module
  for module; do pkg-config --exists "$module" 2>/dev/null || missing+=("$module"); done
}

refuse() {
  local sudo=""
  ((EUID == 0)) || sudo="sudo "
  if [[ -n "${DDP_WHEELS:-}" ]] && command -v apt-get >/dev/null; then
    if ((EUID == 0)); then
      fail 2 "$1: DDP_WHEELS=$DDP_WHEELS lacks some of these, or of what they need:" "    ${missing[*]}" \
        "make it again with scripts/fetch, on a machine with a network and this release of this system"
    fi
    fail 2 "$1: please run this, then start again:" \
      "    sudo apt-get install -y --no-install-recommends $(printf '%q' "$DDP_WHEELS")/*.deb"
  fi
  if command -v apt-get >/dev/null; then
    fail 2 "$1: please run this, then start again:" \
      "    ${sudo}apt-get update && ${sudo}apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  fail 2 "$1: please install what is missing, then start again:" "    ${missing[*]}" \
    "(on Debian 12 and Ubuntu 24.04 it would be: apt-get install --no-install-recommends ${wanted[*]})"
}

# The lists of a fresh system are empty, those of an old one name files that are gone: so update once, when it fails.
apt_install() {
  local apt=(apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=900)
  export DEBIAN_FRONTEND=noninteractive
  if [[ -n "${DDP_WHEELS:-}" ]]; then
    apt_install_from_folder
    return
  fi
  if "${apt[@]}" install --simulate --no-install-recommends "${missing[@]}" >/dev/null 2>&1; then
    "${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null >&2 && return
  fi
  say "reading the lists of packages anew (apt-get update)"
  "${apt[@]}" update </dev/null >&2 && "${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null >&2
}

# C++20 as it is used here, and the ABI of LibTorch's wheel.
check_compiler() {
  local compiler=${CXX:-g++} version
  version=$("$compiler" -dumpversion 2>/dev/null) || fail 2 "there is no compiler $compiler"
  [[ "$compiler" != *g++* ]] || ((${version%%.*} >= 12)) ||
    fail 2 "$compiler is version $version; ddp-exp needs g++ 12 or newer (set CXX to another one)"
}
