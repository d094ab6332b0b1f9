# Installs the built program under $prefix.
# shellcheck shell=bash

# Makes $prefix absolute and creates the folder; refuses a folder that is not writable.
check_prefix() {
  local folder said
  prefix=$(realpath -m -- "$prefix")
  [[ "$prefix/" != "$build/"* ]] ||
    fail 2 "cannot install into $prefix: that is the build folder; name another one"
  for folder in "$prefix" "$prefix"/{bin,include,lib,share}; do
    if [[ "$folder" != "$prefix" && ! -e "$folder" ]]; then continue; fi
    if ! said=$(umask 022 && mkdir -p -- "$folder" 2>&1) || [[ ! -w "$folder" ]]; then
      fail 2 "cannot install into $prefix: ${said:-$folder is not writable}" \
        "name a folder of yours, such as --install ~/.local, or run this as the owner of that folder"
    fi
  done
}

install_program() {
  local torch=()
  if ((with_libtorch)); then torch=("$libtorch"); fi
  lock "$root/build/.lock"
  "$python" -I -B "$root/scripts/setup/package/install.py" "$build" "$prefix" "${torch[@]}" || exit
  unlock
  say "installed: $prefix/bin/ddp-exp"
  if [[ ":$PATH:" != *":$prefix/bin:"* ]]; then say "to have it in every shell: export PATH=$(printf %q "$prefix/bin"):\$PATH"; fi
  tell_of_libtorch
}

# tell_of_libtorch: prints where the installed program finds LibTorch, and for which users it does not.
tell_of_libtorch() {
  if [[ -e "$prefix/lib/torch/lib/libtorch_cpu.so" ]]; then
    say "it uses LibTorch in $prefix/lib"
  elif [[ -n "${DDP_LIBTORCH:-}" ]]; then
    say "it uses LibTorch if DDP_LIBTORCH=$(printf %q "$libtorch") is set"
  else
    say "it uses LibTorch in $libtorch; for other users install it with --with-libtorch"
  fi
}
