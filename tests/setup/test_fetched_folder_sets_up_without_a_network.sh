#!/usr/bin/env bash
# scripts/fetch fills a folder through a mirror and a proxy. With this folder a machine without a network and without
# packages is set up by the real apt, dpkg and pip, with packages of a few bytes.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

for program in apt-get dpkg-deb unshare; do
  command -v "$program" >/dev/null || { echo "skipped: this machine has no $program"; exit 77; }
done
((EUID == 0)) || { echo "skipped: installing packages takes root"; exit 77; }
unshare -n true 2>/dev/null || { echo "skipped: no network can be taken away here"; exit 77; }
cp "$source_root/scripts/fetch" "$checkout/scripts"
architecture=$(dpkg --print-architecture)

# deb NAME VERSION [DEPENDS]: a package with one file, in the mirror.
deb() {
  local tree=$scratch/tree
  rm -rf "$tree"
  mkdir -p "$tree/DEBIAN" "$tree/usr/share/stand-in" "$scratch/files/debian"
  echo "$2" >"$tree/usr/share/stand-in/$1"
  printf '%s\n' "Package: $1" "Version: $2" "Architecture: $architecture" "Maintainer: nobody <nobody@localhost>" \
    ${3:+"Depends: $3"} "Description: stands in" >"$tree/DEBIAN/control"
  dpkg-deb --build "$tree" "$scratch/files/debian/$(printf %s "$1" | tr + p)_${2//:/%3a}.deb" >/dev/null
}
# shellcheck source=../../scripts/setup/packages.sh
. "$source_root/scripts/setup/packages.sh"
mapfile -t optional < <(printf '%s\n' "${image_packages[@]}" "${serve_packages[@]}" "${object_packages[@]}" | sort -u)
for package in "${packages[@]}" "${optional[@]}"; do deb "$package" 1:2.0 "common-part (>= 2)"; done
deb common-part 2.1
deb unwanted 1.0
/usr/bin/python3 -I "$source_root/scripts/setup/debs.py" "$scratch/files/debian" "$scratch/files"

# system NAME PACKAGE...: a root folder for dpkg with apt's settings, in which these packages count as installed.
system() {
  local folder=$scratch/$1 package
  mkdir -p "$folder"/{var/log/apt,var/lib/dpkg/{info,updates},etc/apt/{apt.conf,preferences}.d}
  mkdir -p "$folder"/var/{lib/apt/lists,cache/apt/archives}/partial
  for package in "${@:2}"; do
    printf '%s\n' "Package: $package" "Status: install ok installed" "Version: 2.1" "Architecture: $architecture" \
      "Maintainer: nobody <nobody@localhost>" "Description: stands in" ""
  done >"$folder/var/lib/dpkg/status"
  printf '%s\n' "Dir \"$folder\";" "Dir::State::Status \"$folder/var/lib/dpkg/status\";" \
    "DPkg::Options { \"--root=$folder\"; };" "APT::Sandbox::User \"\";" >"$folder/apt.conf"
  export APT_CONFIG=$folder/apt.conf DPKG_ADMINDIR=$folder/var/lib/dpkg
}

# A machine with a network through a proxy; some of the packages are installed already.
/usr/bin/python3 -I -B "$source_root/tests/setup/mirror.py" "$scratch/wheels" "$scratch/files" "$scratch/asked" \
  >"$scratch/port" &
mirror=$!
trap 'kill "$mirror" 2>/dev/null || true; rm -rf "$scratch"' EXIT
until [[ -s "$scratch/port" ]]; do kill -0 "$mirror" || die "the mirror did not start"; done
system connected common-part
echo "deb [trusted=yes] http://mirror.invalid/files ./" >"$scratch/connected/etc/apt/sources.list"
printf '%s\n' "[global]" "index-url = http://mirror.invalid/simple" "trusted-host = mirror.invalid" >"$scratch/pip.conf"
unset PIP_NO_INDEX PIP_FIND_LINKS
folder="$scratch/two words"
env PIP_CONFIG_FILE="$scratch/pip.conf" http_proxy="http://127.0.0.1:$(<"$scratch/port")" no_proxy="" \
  "$checkout/scripts/fetch" "$folder" >"$out" 2>"$err" || die "scripts/fetch failed: $(cat "$err")"
expect_text "$scratch/asked" "/simple/torch/"
expect_text "$scratch/asked" "/files/./0.deb"
expect "the wheels are there" test "$(find "$folder" -name '*.whl' | wc -l)" = 5
expect "packages of this machine are fetched too, and unneeded ones are not: $(ls "$folder")" \
  test "$(find "$folder" -name '*.deb' | wc -l)" = $((${#packages[@]} + ${#optional[@]} + 1)) -a ! -e "$folder/unwanted_1.0_$architecture.deb"
expect "nothing else is left" test -z "$(find "$folder" -mindepth 1 -not -name '*.whl' -not -name '*.deb')"
kill "$mirror"

# A machine without a network and without packages. Its own package sources cannot be reached.
system alone
echo "deb http://mirror.invalid/files ./" >"$scratch/alone/etc/apt/sources.list"
status=0
env DDP_WHEELS="$folder" unshare -n "$checkout/scripts/ddp-exp" run one >"$out" 2>"$err" || status=$?
expect "it is set up: $(cat "$err")" test "$status" = 0
expect_text "$out" "[one]"
count_installed() { dpkg-query -W -f '${Package} ${db:Status-Status}\n' | grep -c ' installed$'; }
expect "all packages are installed: $(count_installed)" test "$(count_installed)" = $((${#packages[@]} + 1))
env DDP_WHEELS="$folder" unshare -n "$checkout/scripts/ddp-exp" --obtain images >"$out" 2>"$err" || status=$?
expect "the image libraries are obtained: $(cat "$err")" test "$status" = 0 -a -s "$checkout/build/release/bin/libddp_images.so"
expect "with its packages: $(count_installed)" test "$(count_installed)" = $((${#packages[@]} + ${#image_packages[@]} + 1))
expect "the folder is unchanged" test "$(find "$folder" -name '*.whl' -o -name '*.deb' | wc -l)" = $((${#packages[@]} + ${#optional[@]} + 6))

# A folder that lacks a package: the error names it and the remedy.
rm "$folder"/common-part*
system poor
status=0
env DDP_WHEELS="$folder" unshare -n "$checkout/scripts/ddp-exp" --setup-only >"$out" 2>"$err" || status=$?
expect "the second call needs nothing: $(cat "$err")" test "$status" = 0
rm -r "$checkout/build"
env DDP_WHEELS="$folder" unshare -n "$checkout/scripts/ddp-exp" --setup-only >"$out" 2>"$err" || status=$?
expect "it stops with exit code 2, not $status" test "$status" = 2
expect_text "$err" "lacks some of these"
expect_text "$err" "scripts/fetch"
