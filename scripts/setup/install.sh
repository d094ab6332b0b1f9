# Installs what was built under $prefix.
# shellcheck shell=bash

# Makes $prefix absolute, and the folder, and refuses one that cannot be written to.
check_prefix() {
  local folder said
  prefix=$(realpath -m -- "$prefix")
  [[ "$prefix/" != "$build/"* ]] ||
    fail 2 "cannot install into $prefix: that is the folder of the build; name another one"
  for folder in "$prefix" "$prefix"/{bin,include,lib,share}; do
    if [[ "$folder" != "$prefix" && ! -e "$folder" ]]; then continue; fi
    if ! said=$(umask 022 && mkdir -p -- "$folder" 2>&1) || [[ ! -w "$folder" ]]; then
      fail 2 "cannot install into $prefix: ${said:-$folder cannot be written to}" \
        "name a folder of yours, as --install ~/.local, or run this as the owner of that one"
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

# tell_of_libtorch: where the installed program will find it, and who will not.
tell_of_libtorch() {
  if [[ -e "$prefix/lib/torch/lib/libtorch_cpu.so" ]]; then
    say "it uses LibTorch in $prefix/lib"
  elif [[ -n "${DDP_LIBTORCH:-}" ]]; then
    say "it uses LibTorch where DDP_LIBTORCH=$(printf %q "$libtorch") says so"
  else
    say "it uses LibTorch in $libtorch; for other users install it with --with-libtorch"
  fi
}
