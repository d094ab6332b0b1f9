# Configures and builds into $build. Decides without ninja if the build is up to date.
# shellcheck shell=bash

# use_build FOLDER: makes FOLDER the build folder from now on.
use_build() {
  build=$1
  # Written last, with the time at which the build began: the build does not contain later changes.
  stamp="$build/.set-up"
  # Written after cmake has succeeded, with its settings.
  configured="$build/.configured"
}
use_build "$build"

# Libraries that few users need: libddp_NAME.so. A build contains such a library after the first ask_for.
optional_libraries=(tables objects images serve)

# ask_for NAME...: adds these libraries to this and all later builds of $build.
ask_for() {
  local name
  mkdir -p "$build"
  for name; do touch "$build/.with-$name"; done
}

# find_asked_for: sets `libraries` of its caller to the libraries of earlier ask_for calls.
find_asked_for() {
  local name
  libraries=()
  for name in "${optional_libraries[@]}"; do [[ ! -e "$build/.with-$name" ]] || libraries+=("$name"); done
}

# stamp_text CUDA LIBRARY...: prints the stamp's text for a build of this checkout with this LibTorch, with or without
# the GPU libraries, and with these optional libraries.
stamp_text() { printf '%s\n%s\ncuda=%s with:%s' "$root" "$libtorch" "$1" "$(printf ' %s' "${@:2}")"; }

# up_to_date CUDA LIBRARY...: true if the program of the last build is still current. It runs before every run of the
# program and takes only milliseconds: it looks for a few files, and runs one `find` over the sources. Status change
# times, unlike modification times, also show files that were copied here with their old dates; a folder's status change
# time shows deletions.
up_to_date() {
  local text parts changed name
  [[ -e "$stamp" && -x "$build/bin/ddp-exp" && -e "$libtorch/torch/lib/libtorch_cpu.so" ]] || return 1
  sample_data_complete || return 1
  text=$(<"$stamp")
  [[ "${text%$'\n'*}" == "$root"$'\n'"$libtorch" ]] || return 1
  parts=${text##*$'\n'}
  [[ "$1" == 0 || "$parts" == *cuda=1* ]] || return 1
  for name in "${@:2}"; do [[ " $parts " == *" $name "* ]] || return 1; done
  for name in "${optional_libraries[@]}"; do
    [[ " $parts " != *" $name "* || -e "$build/bin/libddp_$name.so" ]] || return 1
  done
  [[ " $parts " != *" tables "* || -e "$arrow/pyarrow/libarrow.so.2600" ]] || return 1
  changed=$(cd "$root" && find CMakeLists.txt CMakePresets.json cmake runner models datasets python scripts/requirements \
    scripts/setup -cnewer "$stamp" -print -quit 2>&1)
  [[ -z "$changed" ]]
}

# build_program PRESET TARGET...
build_program() {
  local preset=$1 cuda=0 libraries name
  shift
  find_asked_for
  for name in "${libraries[@]}"; do "fetch_$name"; done
  [[ -e "$(marker "$libtorch" cuda)" || -n "${DDP_LIBTORCH:-}" ]] && cuda=1
  lock "$root/build/.lock"
  mkdir -p "$build"
  touch "$build/.set-up.new"
  configure "$preset" "$cuda" "${libraries[@]}"
  compile "$@"
  stamp_text "$cuda" "${libraries[@]}" >"$build/.set-up.text"
  # The new content with the time before the build, put in place by one rename.
  touch -r "$build/.set-up.new" "$build/.set-up.text"
  mv "$build/.set-up.text" "$stamp"
  rm -f "$build/.set-up.new"
  unlock
}

# configure PRESET CUDA LIBRARY...: runs cmake the first time, after LibTorch has moved or received its GPU libraries,
# and when an optional library or the tests are first needed. Ninja itself runs cmake again if CMake's files or the list
# of sources change.
configure() {
  local text before="" log="$build/configure.log" fresh=() folder="" objects=OFF images=OFF serve=OFF
  text=$(stamp_text "${@:2}")
  if [[ -e "$configured" ]]; then before=$(<"$configured"); fi
  if [[ "$before" == "$text" ]] && { [[ "$1" != test ]] || grep -q '^DDP_TESTS:.*=ON' "$build/CMakeCache.txt"; }; then
    return
  fi
  # If cmake was interrupted, or the checkout has moved since, cmake must start from scratch.
  if [[ "${before%%$'\n'*}" != "$root" ]]; then fresh=(--fresh); fi
  if [[ " ${*:3} " == *" tables "* ]]; then folder=$arrow; fi
  if [[ " ${*:3} " == *" objects "* ]]; then folder=$arrow objects=ON; fi
  if [[ " ${*:3} " == *" images "* ]]; then images=ON; fi
  if [[ " ${*:3} " == *" serve "* ]]; then serve=ON; fi
  say "configuring (cmake), in $build"
  rm -f "$configured"
  if ! (cd "$root" && cmake --preset "$1" "${fresh[@]}" "-DDDP_LIBTORCH=$libtorch" "-DDDP_NCCL=$2" "-DDDP_ARROW=$folder" \
    "-DDDP_OBJECTS=$objects" \
    "-DDDP_IMAGES=$images" "-DDDP_SERVE=$serve" -U 'DDP_CUDA_*' -U DDP_NCCL_INCLUDE </dev/null >"$log" 2>&1); then
    cat "$log" >&2
    fail 1 "cmake failed"
  fi
  printf '%s' "$text" >"$configured"
}

# compile TARGET...: the largest compilation takes 2 GB, so cores and memory limit the number of parallel jobs.
compile() {
  local jobs cores memory status=0
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ {print int($2 / 2000000)}' /proc/meminfo)
  jobs=$((memory < cores ? (memory > 1 ? memory : 1) : cores))
  # ccache may use objects of another clone of the same sources. pch_defines is safe, because no file defines a macro of
  # a precompiled header before it.
  export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
  "$python" -I "$root/scripts/setup/progress.py" "$build" "$jobs" "$@" || status=$?
  ((status == 0)) || ((status == 130)) || fail 1 "the build failed; the compiler's lines above say why"
  ((status == 0)) || exit 130
}
