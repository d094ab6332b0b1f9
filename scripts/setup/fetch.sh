# Fetches the pinned wheels into the cache. Each layer has a list in scripts/requirements and a marker file, which is
# written last and contains the list's checksum: a layer without the right marker counts as missing.
#   libtorch   $libtorch                   torch and the two libraries that it cannot start without
#   cuda       into the same folder        the libraries for GPUs, which Python's `import torch` also loads
#   python     $cache/python-<version>     the other packages that the parity tests import
#   tools      $cache/tools-<version>      tools with which tests check results
#   trackers   $cache/trackers-<version>   MLflow and W&B, into which tests replay runs
#   servers    $cache/servers-<version>    an S3 server for tests
#   data       $cache/data-<version>       pandas, scikit-learn, torchvision and transformers, the peers of tables and models in tests
#   peers      $cache/peers-<version>      the peers of sweeps in benches
#   streams    $cache/streams-<version>    the peers of streams in benches
#   pillow     $cache/pillow-<version>     Pillow, which draws the letters of scripts/glyphs
#   tables     $arrow                      Arrow C++, for experiments that name a table or a URL
# (fetch_images and fetch_serve install packages: packages.sh.)
# shellcheck shell=bash

marker() { printf '%s/.complete-%s' "$1" "$2"; }

# layer_complete FOLDER LAYER: true if the marker exists and has the checksum of the current list.
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
    # An existing folder belongs to another list of wheels. One rename moves it away.
    if [[ -e "$libtorch" ]]; then mv "$libtorch" "$work/old"; fi
    mv "$work/tree" "$libtorch"
    end_layer
  fi
  unlock
}

# The GPU libraries belong next to torch's libraries, where torch's RUNPATH looks. Each file is moved there by a rename;
# the libraries count only after the marker is written.
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

# fetch_packages LAYER MEGABYTES WHAT: fetches a layer for this Python. Sets packages_layer.
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

# Fetches the packages for PyTorch's Python, which loads the GPU libraries even without a GPU. Exports DDP_PYTHON and
# DDP_PYTHONPATH, for: PYTHONPATH=$DDP_PYTHONPATH $DDP_PYTHON …
fetch_pytorch() {
  fetch_cuda "the GPU libraries, which Python's 'import torch' loads even without a GPU"
  fetch_python
  export DDP_PYTHON="$python" DDP_PYTHONPATH="$libtorch:$python_layer"
}

# Fetches the tools with which tests check results. Exports DDP_PYTHON and DDP_TOOLS, for: PYTHONPATH=$DDP_TOOLS
# $DDP_PYTHON …
fetch_tools() {
  fetch_python
  fetch_packages tools 300 "TensorBoard and validators, for the tests: 50 MB"
  export DDP_PYTHON="$python" DDP_TOOLS="$packages_layer:$python_layer"
}

# Fetches MLflow and W&B, into which tests replay runs. Exports DDP_PYTHON and DDP_TRACKERS, for:
# PYTHONPATH=$DDP_TRACKERS $DDP_PYTHON …
fetch_trackers() {
  fetch_python
  fetch_packages trackers 400 "MLflow and W&B, for the tests: 48 MB"
  export DDP_PYTHON="$python" DDP_TRACKERS="$packages_layer:$python_layer"
}

# Fetches an S3 server. Exports DDP_PYTHON and DDP_SERVERS, for: PYTHONPATH=$DDP_SERVERS $DDP_PYTHON …
fetch_servers() {
  fetch_python
  fetch_packages servers 400 "an S3 server, for the tests: 30 MB"
  export DDP_PYTHON="$python" DDP_SERVERS="$packages_layer:$python_layer"
}

# Fetches pandas, scikit-learn, torchvision, timm, transformers and the whole pyarrow, with which tests compare tables and
# models. Adds them to DDP_PYTHONPATH.
fetch_data() {
  fetch_pytorch
  fetch_packages data 1100 "pandas, scikit-learn, torchvision, timm and transformers, for the tests: 158 MB"
  export DDP_PYTHONPATH="$packages_layer:$DDP_PYTHONPATH"
}

# Fetches the peers of ddp-exp's sweeps. Exports DDP_PEERS, for: PYTHONPATH=$DDP_PEERS:$DDP_PYTHONPATH …
fetch_peers() {
  fetch_packages peers 2000 "Ray Tune and Optuna, the peers of sweeps: 160 MB"
  export DDP_PEERS="$packages_layer"
}

# Fetches the peers of ddp-exp's streams. Exports DDP_STREAMS: they and an S3 server, which lie beside DDP_PYTHONPATH.
fetch_streams() {
  fetch_packages streams 500 "litdata, Streaming, WebDataset and datasets, the peers of streams: 73 MB"
  DDP_STREAMS="$packages_layer"
  fetch_packages servers 400 "an S3 server, for the tests: 30 MB"
  export DDP_STREAMS="$DDP_STREAMS:$packages_layer"
}

# sample_data_in FOLDER NAME...: true if the folder has these files.
sample_data_in() {
  local name
  for name in "${@:2}"; do [[ -e "$1/$name" ]] || return 1; done
}

sample_data_complete() {
  sample_data_in "$sample_data" digits.csv.gz "${sample_names[@]}" && sample_data_in "$root/data" "${sample_names[@]}"
}

# Fetches the data of experiments/: the table of digits stays in the cache; tables and images are copied into data/ of
# the checkout, where the experiment files expect them.
fetch_sample_data() {
  if sample_data_complete; then return; fi
  lock "$cache/lock"
  if ! sample_data_in "$sample_data" digits.csv.gz "${sample_names[@]}"; then
    begin_layer 100 "fetching the data of the experiments: 10 MB, once, into $sample_data"
    download digits
    unpack_wheels 'sklearn/datasets/data/*.csv*'
    local source="$work/tree/sklearn/datasets/data"
    mkdir -p "$work/made" "$sample_data"
    "$python" -I "$root/scripts/setup/sample_tables.py" "$source" "$work/made"
    "$python" -I "$root/scripts/setup/sample_images.py" "$source/digits.csv.gz" "$work/made/digits_images"
    # One rename puts the folder in place, but it cannot replace an existing folder.
    rm -rf "$sample_data/digits_images"
    mv "$source/digits.csv.gz" "$work/made"/* "$sample_data"
    end_layer
  fi
  mkdir -p "$root/data"
  # Existing files stay: a user may have changed them.
  local name
  for name in "${sample_names[@]}"; do
    [[ -e "$root/data/$name" ]] && continue
    rm -rf "$root/data/$name.tmp"
    cp -r "$sample_data/$name" "$root/data/$name.tmp"
    mv -T "$root/data/$name.tmp" "$root/data/$name"
  done
  unlock
}

# libddp_tables.so and libddp_objects.so need the headers and three libraries of the wheel.
fetch_tables() {
  if layer_complete "$arrow" tables; then return; fi
  lock "$cache/lock"
  if ! layer_complete "$arrow" tables; then
    begin_layer 200 "fetching Arrow 26.0.1, which reads tables and objects: 55 MB, once, into $arrow"
    download tables
    unpack_wheels 'pyarrow/include/*' 'pyarrow/libarrow.so.*' 'pyarrow/libparquet.so.*' 'pyarrow/libarrow_s3.so.*'
    cksum <"$requirements/tables.txt" >"$(marker "$work/tree" tables)"
    if [[ -e "$arrow" ]]; then mv "$arrow" "$work/old"; fi
    mv "$work/tree" "$arrow"
    end_layer
  fi
  unlock
}

# begin_layer MEGABYTES LINE: the lock excludes other set-ups, so existing temporary folders come from a killed set-up.
begin_layer() {
  rm -rf "$cache"/tmp.*
  work=$(mktemp -d "$cache/tmp.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  local free
  free=$(df --output=avail -BM "$cache" | tail -n 1)
  free=${free//[!0-9]/}
  ((free >= $1)) || fail 2 "$2" "unpacking needs $1 MB, but only $free MB are free there"
  say "$2"
}

end_layer() {
  rm -rf "$work"
  say "done, $SECONDS s since the start"
}

# download LAYER: fetches the wheels into $work/wheels; pip checks each against its pinned hash. --isolated would drop
# pip's settings, and with them a mirror or a folder of wheels that the user's site needs; -I drops only Python's
# settings.
download() {
  mkdir "$work/wheels"
  download_into "$work/wheels" "$1"
}

# download_into FOLDER LAYER
download_into() {
  local source=() remedy="pip's settings apply (mirror, proxy); or set DDP_WHEELS=<folder that scripts/fetch filled>"
  if [[ -n "${DDP_WHEELS:-}" ]]; then
    source=(--no-index --find-links "$DDP_WHEELS")
    remedy="DDP_WHEELS=$DDP_WHEELS lacks a wheel: make it again with scripts/fetch, with this version of Python"
  fi
  mkdir "$work/pip"
  TMPDIR="$work/pip" PIP_REQUIRE_VIRTUALENV=0 PIP_NO_INPUT=1 "$python" -I -m pip download \
    --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: --require-hashes "${source[@]}" \
    -r "$requirements/$2.txt" -d "$1" </dev/null >&2 ||
    fail 1 "could not fetch the packages of $requirements/$2.txt (pip's own lines above say why)" \
      "the list is for Python 3.11 to 3.14; this is $("$python" -V)" "$remedy"
  rm -rf "$work/pip"
}

# unpack_wheels [PATTERN...]: unpacks $work/wheels into $work/tree, all files or the files that match. Deletes each
# wheel after unpacking it.
unpack_wheels() { "$python" -I "$root/scripts/setup/wheels.py" unpack "$work/wheels" "$work/tree" "$@"; }

check_given_libtorch() {
  [[ -e "$libtorch/torch/lib/libtorch_cpu.so" ]] ||
    fail 2 "DDP_LIBTORCH=$libtorch holds no torch/lib/libtorch_cpu.so: name the folder that holds torch/ and nvidia/"
  grep -qs "__version__ = '2\.11\.0" "$libtorch/torch/version.py" ||
    fail 2 "DDP_LIBTORCH=$libtorch is not torch 2.11.0, the only version that ddp-exp builds with"
}
