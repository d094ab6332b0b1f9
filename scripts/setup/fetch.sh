# Fetches the pinned wheels into the cache. Each layer has its list in scripts/requirements and a marker file that is
# written last and holds that list's checksum: what has no fitting marker does not exist.
#   libtorch   $libtorch                   torch and the two libraries that it cannot start without
#   cuda       into the same folder        what a GPU needs, and what Python's `import torch` loads
#   python     $cache/python-<version>     the other packages that the parity tests import
#   tools      $cache/tools-<version>      what tests look at the results with
#   data       $cache/data-<version>       pandas, scikit-learn and torchvision, which tables and models are compared with
#   peers      $cache/peers-<version>      what sweeps are measured beside
#   tables     $arrow                      Arrow C++, for experiments that name a table
# (fetch_images, for experiments with images, installs packages: packages.sh.)
# shellcheck shell=bash

marker() { printf '%s/.complete-%s' "$1" "$2"; }

# layer_complete FOLDER LAYER: its marker is there and is that of today's list.
layer_complete() {
  local file
  file=$(marker "$1" "$2")
  [[ -e "$file" && "$(<"$file")" == "$(cksum <"$requirements/$2.txt")" ]]
}

fetch_libtorch() {
  if [[ -n "${DDP_LIBTORCH:-}" ]]; then
    check_given_libtorch
    return
  fi
  if layer_complete "$libtorch" libtorch; then return; fi
  lock "$cache/lock"
  if ! layer_complete "$libtorch" libtorch; then
    begin_layer 3000 "fetching LibTorch 2.11.0: 545 MB, once, into $libtorch"
    download libtorch
    unpack_wheels
    cksum <"$requirements/libtorch.txt" >"$(marker "$work/tree" libtorch)"
    # Only a folder of another list of wheels can be in the way. It goes by one rename as well.
    if [[ -e "$libtorch" ]]; then mv "$libtorch" "$work/old"; fi
    mv "$work/tree" "$libtorch"
    end_layer
  fi
  unlock
}

# The libraries of the GPU belong next to torch's, where its RUNPATH looks. They are moved in file by file, each by a
# rename; until the marker is written they do not count.
fetch_cuda() {
  if [[ -n "${DDP_LIBTORCH:-}" ]]; then return; fi
  if layer_complete "$libtorch" cuda; then return; fi
  lock "$cache/lock"
  if ! layer_complete "$libtorch" cuda; then
    begin_layer 9000 "fetching ${1:-the GPU libraries}: 2.0 GB, once, into $libtorch"
    download cuda
    unpack_wheels
    rm -f "$(marker "$libtorch" cuda)"
    "$python" -I "$root/scripts/setup/wheels.py" merge "$work/tree" "$libtorch"
    cksum <"$requirements/cuda.txt" >"$work/marker"
    mv "$work/marker" "$(marker "$libtorch" cuda)"
    end_layer
  fi
  unlock
}

# Sets python_layer.
fetch_python() {
  fetch_packages python 300 "the Python packages of the parity tests: 28 MB"
  python_layer=$packages_layer
}

# fetch_packages LAYER MEGABYTES WHAT: for this Python. Sets packages_layer.
fetch_packages() {
  packages_layer="$cache/$1-$("$python" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  if layer_complete "$packages_layer" "$1"; then return; fi
  lock "$cache/lock"
  if ! layer_complete "$packages_layer" "$1"; then
    begin_layer "$2" "fetching $3, once, into $packages_layer"
    download "$1"
    unpack_wheels
    cksum <"$requirements/$1.txt" >"$(marker "$work/tree" "$1")"
    if [[ -e "$packages_layer" ]]; then mv "$packages_layer" "$work/old"; fi
    mv "$work/tree" "$packages_layer"
    end_layer
  fi
  unlock
}

# What it takes to run PyTorch's Python, which loads the GPU libraries even where there is no GPU. Exports DDP_PYTHON
# and DDP_PYTHONPATH, for: PYTHONPATH=$DDP_PYTHONPATH $DDP_PYTHON …
fetch_pytorch() {
  fetch_cuda "the GPU libraries, which Python's 'import torch' loads even without a GPU"
  fetch_python
  export DDP_PYTHON="$python" DDP_PYTHONPATH="$libtorch:$python_layer"
}

# Fetches the tools with which tests look at results. Exports DDP_PYTHON and DDP_TOOLS, for: PYTHONPATH=$DDP_TOOLS $DDP_PYTHON …
fetch_tools() {
  fetch_python
  fetch_packages tools 200 "TensorBoard and validators, for the tests: 27 MB"
  export DDP_PYTHON="$python" DDP_TOOLS="$packages_layer:$python_layer"
}

# pandas, scikit-learn, torchvision and the whole pyarrow, which tests compare tables and models with. Adds them to DDP_PYTHONPATH.
fetch_data() {
  fetch_pytorch
  fetch_packages data 1000 "pandas, scikit-learn and torchvision, for the tests: 135 MB"
  export DDP_PYTHONPATH="$packages_layer:$DDP_PYTHONPATH"
}

# What ddp-exp's sweeps are measured beside. Exports DDP_PEERS, for: PYTHONPATH=$DDP_PEERS:$DDP_PYTHONPATH …
fetch_peers() {
  fetch_packages peers 2000 "Ray Tune and Optuna, to measure beside: 160 MB"
  export DDP_PEERS="$packages_layer"
}

# sample_data_in FOLDER NAME...: these files are there.
sample_data_in() {
  local name
  for name in "${@:2}"; do [[ -e "$1/$name" ]] || return 1; done
}

sample_data_complete() {
  sample_data_in "$sample_data" digits.csv.gz "${sample_tables[@]}" && sample_data_in "$root/data" "${sample_tables[@]}"
}

# The data of experiments/: the digits stay in the cache, the tables are copied into data/ of the checkout, where
# experiment files name them.
fetch_sample_data() {
  if sample_data_complete; then return; fi
  lock "$cache/lock"
  if ! sample_data_in "$sample_data" digits.csv.gz "${sample_tables[@]}"; then
    begin_layer 100 "fetching the data of the experiments: 10 MB, once, into $sample_data"
    download digits
    unpack_wheels 'sklearn/datasets/data/*.csv*'
    mkdir -p "$work/tables" "$sample_data"
    "$python" -I "$root/scripts/setup/sample_tables.py" "$work/tree/sklearn/datasets/data" "$work/tables"
    mv "$work/tree/sklearn/datasets/data/digits.csv.gz" "$work/tables"/* "$sample_data"
    end_layer
  fi
  mkdir -p "$root/data"
  # A file that a user has changed stays.
  local name
  for name in "${sample_tables[@]}"; do
    [[ -e "$root/data/$name" ]] && continue
    cp "$sample_data/$name" "$root/data/$name.tmp"
    mv "$root/data/$name.tmp" "$root/data/$name"
  done
  unlock
}

# libddp_tables.so needs the headers and two libraries of the wheel.
fetch_tables() {
  if layer_complete "$arrow" tables; then return; fi
  lock "$cache/lock"
  if ! layer_complete "$arrow" tables; then
    begin_layer 200 "fetching Arrow 26.0.1, which reads tables: 55 MB, once, into $arrow"
    download tables
    unpack_wheels 'pyarrow/include/*' 'pyarrow/libarrow.so.*' 'pyarrow/libparquet.so.*'
    cksum <"$requirements/tables.txt" >"$(marker "$work/tree" tables)"
    if [[ -e "$arrow" ]]; then mv "$arrow" "$work/old"; fi
    mv "$work/tree" "$arrow"
    end_layer
  fi
  unlock
}

# begin_layer MEGABYTES LINE: under the lock nobody else works here, so what lies there was left by a killed set-up.
begin_layer() {
  rm -rf "$cache"/tmp.*
  work=$(mktemp -d "$cache/tmp.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  local free
  free=$(df --output=avail -BM "$cache" | tail -n 1)
  free=${free//[!0-9]/}
  ((free >= $1)) || fail 2 "$2" "that takes $1 MB while it unpacks, and only $free MB are free there"
  say "$2"
}

end_layer() {
  rm -rf "$work"
  say "done, $SECONDS s since the start"
}

# download LAYER: into $work/wheels, each checked against its pinned hash by pip. --isolated would drop pip's own
# settings, and with them a mirror or a folder of wheels that the user's site needs; -I only drops Python's.
download() {
  mkdir "$work/wheels"
  download_into "$work/wheels" "$1"
}

# download_into FOLDER LAYER
download_into() {
  local source=() remedy="pip's settings are obeyed: a mirror, a proxy; or DDP_WHEELS=<folder that scripts/fetch filled>"
  if [[ -n "${DDP_WHEELS:-}" ]]; then
    source=(--no-index --find-links "$DDP_WHEELS")
    remedy="DDP_WHEELS=$DDP_WHEELS lacks a wheel: make it again with scripts/fetch, with this version of Python"
  fi
  mkdir "$work/pip"
  TMPDIR="$work/pip" PIP_REQUIRE_VIRTUALENV=0 PIP_NO_INPUT=1 "$python" -I -m pip download \
    --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: --require-hashes "${source[@]}" \
    -r "$requirements/$2.txt" -d "$1" </dev/null >&2 ||
    fail 1 "could not fetch the packages of $requirements/$2.txt (pip's own lines above say why)" \
      "the list is for Python 3.11 to 3.14, this is $("$python" -V)" "$remedy"
  rm -rf "$work/pip"
}

# unpack_wheels [PATTERN...]: $work/wheels into $work/tree, all of it or the files that match. Each wheel is deleted as it is done.
unpack_wheels() { "$python" -I "$root/scripts/setup/wheels.py" unpack "$work/wheels" "$work/tree" "$@"; }

check_given_libtorch() {
  [[ -e "$libtorch/torch/lib/libtorch_cpu.so" ]] ||
    fail 2 "DDP_LIBTORCH=$libtorch holds no torch/lib/libtorch_cpu.so: name the folder that holds torch/ and nvidia/"
  grep -qs "__version__ = '2\.11\.0" "$libtorch/torch/version.py" ||
    fail 2 "DDP_LIBTORCH=$libtorch is not torch 2.11.0, the only version that ddp-exp builds with"
}
