#!/bin/sh
# Starts the program that pip installed into site-packages; the path from here to that folder varies.
here=$(dirname "$(readlink -f "$0")")
found=""
for package in "$here"/../lib/python3*/site-packages/ddp_exp "$here"/../lib/python3*/dist-packages/ddp_exp \
  "$here"/../lib64/python3*/site-packages/ddp_exp "$here"/../ddp_exp; do
  if [ -x "$package/ddp-exp" ]; then found=$package; fi
done
if [ -z "$found" ]; then
  echo "error: the package ddp_exp is not in the site-packages of $here: install it again" >&2
  exit 2
fi

# torch may be in another site-packages folder, if the environment includes the system's packages. Python can find it.
if [ -z "${DDP_LIBTORCH:-}" ] && ! [ -e "$found/../torch/lib/libtorch_cpu.so" ]; then
  python=$here/python3
  if ! [ -x "$python" ]; then
    python=${found%/*/ddp_exp}
    python=${python##*/}
  fi
  DDP_LIBTORCH=$("$python" -c 'import importlib.util, pathlib
spec = importlib.util.find_spec("torch")
print(pathlib.Path(spec.origin).parents[1] if spec and spec.origin else "")' 2>/dev/null) || true
  # An empty DDP_LIBTORCH counts as not set: the program then reports that torch is missing.
  export DDP_LIBTORCH
fi
# The program's messages then contain commands with this script's name.
DDP_EXP_CALLED_AS=$0 exec "$found/ddp-exp" "$@"
