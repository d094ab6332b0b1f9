#!/bin/sh
# Starts the program that pip installed into site-packages, which is not always the same folder seen from here.
here=$(dirname "$(readlink -f "$0")")
found=""
for package in "$here"/../lib/python3*/site-packages/ddp_exp "$here"/../lib/python3*/dist-packages/ddp_exp \
  "$here"/../lib64/python3*/site-packages/ddp_exp "$here"/../ddp_exp; do
  if [ -x "$package/ddp-exp" ]; then found=$package; fi
done
if [ -z "$found" ]; then
  echo "error: the package ddp_exp is not where pip puts it, seen from $here: install it again" >&2
  exit 2
fi

# torch may be in another site-packages, where an environment sees the system's. Python knows in which.
if [ -z "${DDP_LIBTORCH:-}" ] && ! [ -e "$found/../torch/lib/libtorch_cpu.so" ]; then
  python=$here/python3
  if ! [ -x "$python" ]; then
    python=${found%/*/ddp_exp}
    python=${python##*/}
  fi
  DDP_LIBTORCH=$("$python" -c 'import importlib.util, pathlib
spec = importlib.util.find_spec("torch")
print(pathlib.Path(spec.origin).parents[1] if spec and spec.origin else "")' 2>/dev/null) || true
  # Empty, it counts as not set: the program then says that there is no torch.
  export DDP_LIBTORCH
fi
# Its messages name commands as this one was called.
DDP_EXP_CALLED_AS=$0 exec "$found/ddp-exp" "$@"
