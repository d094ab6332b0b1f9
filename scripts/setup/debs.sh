# Debian packages in a folder: fetched on a machine with a network, installed on one without.
# shellcheck shell=bash

# apt_install_from_folder: installs the packages of `missing` and their missing dependencies from DDP_WHEELS. apt uses
# this folder as its only repository, with separate lists, so the system's lists do not change.
apt_install_from_folder() {
  local repository status=0
  repository=$(mktemp -d)
  mkdir -p "$repository/lists/partial"
  # apt may read the files as another user.
  chmod 755 "$repository"
  "$python" -I "$root/scripts/setup/debs.py" "$DDP_WHEELS" "$repository" >&2 &&
    printf 'deb [trusted=yes] file:%s ./\n' "$repository" >"$repository/sources.list" || status=1
  local offline=("${apt[@]}" -o "Dir::Etc::SourceList=$repository/sources.list" -o Dir::Etc::SourceParts=-
    -o "Dir::State::Lists=$repository/lists" -o Acquire::Languages=none
    -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=")
  if ((status == 0)); then
    "${offline[@]}" update </dev/null >&2 &&
      "${offline[@]}" install --no-install-recommends "${missing[@]}" </dev/null >&2 || status=1
  fi
  rm -rf "$repository"
  return $status
}

# fetch_debs FOLDER PACKAGE...: fetches these packages and all their dependencies, even if this machine has them: apt
# works with a private state, in which nothing is installed, but with this machine's sources, proxies and keys. Needs no
# root.
fetch_debs() {
  local folder=$1 state=$work/apt apt known
  mkdir -p "$state"/{lists,archives}/partial
  : >"$state/status"
  apt=(apt-get -q -y -o "Dir::State::Status=$state/status" -o "Dir::State::Lists=$state/lists"
    -o "Dir::State::extended_states=$state/extended" -o "Dir::Cache::Archives=$state/archives"
    -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=" -o Debug::NoLocking=1 -o "APT::Sandbox::User=")
  "${apt[@]}" update </dev/null >&2 || say "apt-get could not read all lists of packages"
  known_packages "$state" "${@:2}"
  "${apt[@]}" install --download-only --no-install-recommends "${known[@]}" </dev/null >&2 ||
    fail 1 "apt-get could not fetch the packages (its lines above say why)"
  find "$state/archives" -maxdepth 1 -name '*.deb' -exec mv -t "$folder" {} +
}

# known_packages STATE PACKAGE...: sets `known` of its caller to the packages that this system's sources have. Ubuntu
# has chromium only as a snap. Fails if a package that the build needs is missing.
known_packages() {
  local package required=" ${packages[*]} ${image_packages[*]} ${serve_packages[*]} ${object_packages[*]} "
  known=("${@:2}")
  if "${apt[@]}" install --simulate --no-install-recommends "${known[@]}" >/dev/null 2>&1; then return; fi
  known=()
  for package in "${@:2}"; do
    if "${apt[@]}" install --simulate --no-install-recommends "$package" >/dev/null 2>"$1/why"; then
      known+=("$package")
    elif [[ "$required" == *" $package "* ]]; then
      fail 1 "$(<"$1/why")" "apt-get knows no package $package"
    else
      say "left out: $package, which the sources of this system do not have"
    fi
  done
}
