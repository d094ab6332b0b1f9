# The Debian and Ubuntu packages for the build and for the tests.
# shellcheck shell=bash

packages=(g++ cmake ninja-build ccache pkg-config libtomlplusplus-dev libspdlog-dev nlohmann-json3-dev libcli11-dev
  catch2 libxxhash-dev libprotobuf-dev protobuf-compiler zlib1g-dev libpcre2-dev libutf8proc-dev python3 python3-pip
  ca-certificates git)

# For libddp_images.so, libddp_serve.so and libddp_objects.so.
image_packages=(libjpeg-dev libpng-dev libdeflate-dev libwebp-dev libarchive-dev)
serve_packages=(libcpp-httplib-dev)
object_packages=(libcpp-httplib-dev libssl-dev)

# For tests/cluster, tests/slurm, tests/faults, tests/system and tests/completion. If a package cannot be installed, its
# tests are skipped with a message.
test_packages=(iproute2 nftables slurmctld slurmd slurm-client strace gdb zsh fish)

# For tests/report. It has a list of its own, because Ubuntu has it only as a snap: an unknown package would keep
# apt-get from installing the others.
browser_packages=(chromium)

# For scripts/soak: libFuzzer, and a bare Debian.
soak_packages=(clang libclang-rt-dev debootstrap)

install_packages() {
  [[ "$(uname -sm)" == "Linux x86_64" ]] || fail 2 "LibTorch's wheel is for Linux on x86-64; this is $(uname -sm)"
  local missing=()
  if command -v dpkg-query >/dev/null; then find_missing_packages "${packages[@]}"; else find_missing_programs; fi
  install_missing "${packages[@]}"
  check_compiler
}

# Each installs the packages that the build of the optional library of that name needs.
fetch_images() { install_for "libjpeg libpng libdeflate libwebp libarchive" "${image_packages[@]}"; }
fetch_objects() {
  install_for "cpp-httplib libcrypto" "${object_packages[@]}"
  fetch_tables
}
fetch_serve() { install_for cpp-httplib "${serve_packages[@]}"; }

# install_for MODULES PACKAGE...: installs the missing ones; MODULES are pkg-config's names of the same.
install_for() {
  local missing=()
  if command -v dpkg-query >/dev/null; then
    find_missing_packages "${@:2}"
  else
    # shellcheck disable=SC2086
    find_missing_modules $1
  fi
  install_missing "${@:2}"
}

# install_missing PACKAGE...: installs the packages in `missing` of its caller, or refuses to continue. PACKAGE...: the
# whole list, for the message.
install_missing() {
  ((${#missing[@]} > 0)) || return 0
  local wanted=("$@")
  command -v apt-get >/dev/null || refuse "this system has no apt-get"
  ((EUID == 0)) || refuse "installing packages requires root"
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
  # dpkg-query fails if it does not know a name, but prints the packages that it knows.
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package; do
    [[ $'\n'"$installed"$'\n' == *$'\n'"$package installed"$'\n'* ]] || missing+=("$package")
  done
}

# On other systems the packages have other names, but the programs and pkg-config's modules have the same names.
find_missing_programs() {
  local program
  for program in g++ cmake ninja pkg-config protoc python3 git; do
    command -v "$program" >/dev/null || missing+=("$program")
  done
  find_missing_modules tomlplusplus spdlog nlohmann_json libxxhash protobuf-lite libpcre2-8 libutf8proc zlib
  "$python" -I -m pip --version >/dev/null 2>&1 || missing+=("pip for $python")
}

# find_missing_modules MODULE...: adds pkg-config's missing modules to `missing` of its caller.
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

# The package lists of a fresh system are empty, and old lists name files that no longer exist: so update once if it
# fails.
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
  say "updating the lists of packages (apt-get update)"
  "${apt[@]}" update </dev/null >&2 && "${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null >&2
}

# The compiler needs the C++20 that is used here, and the ABI of LibTorch's wheel.
check_compiler() {
  local compiler=${CXX:-g++} version
  version=$("$compiler" -dumpversion 2>/dev/null) || fail 2 "the compiler $compiler does not exist"
  [[ "$compiler" != *g++* ]] || ((${version%%.*} >= 12)) ||
    fail 2 "$compiler is version $version; ddp-exp needs g++ 12 or newer (set CXX to another one)"
}
