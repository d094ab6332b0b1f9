#!/usr/bin/env bash
# --install builds the missing parts and installs to the given place: by a relative name, in a folder with blanks, over
# an earlier installation. A place that cannot be written to is refused before anything is built.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

cat >>"$checkout/CMakeLists.txt" <<'CMAKE'
install(PROGRAMS ${CMAKE_BINARY_DIR}/bin/ddp-exp DESTINATION lib/ddp-exp COMPONENT program)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/models/ DESTINATION share/ddp-exp/models COMPONENT program)
CMAKE

cd "$scratch"
touch file
ddp_exp --install "file/prefix"
expect "a file is no folder" test "$status" = 2
expect_text "$err" "cannot install into $scratch/file/prefix"
expect "nothing was built for it" test ! -e "$checkout/build/release/bin/ddp-exp"
ddp_exp --install
expect "a prefix must be named" test "$status" = 2
expect_text "$err" "--install PREFIX"
ddp_exp --install "$checkout/build/release/bin"
expect "the build is no prefix" test "$status" = 2
expect_text "$err" "that is the build folder"

echo second >"$checkout/models/second.txt"
umask 077
ddp_exp --install "two words"
umask 022
prefix="$scratch/two words"
expect "it installs: $(cat "$err")" test "$status" = 0
expect "it says nothing on stdout" test ! -s "$out"
expect_text "$err" "compiler ran"
expect_text "$err" "installed: $prefix/bin/ddp-exp"
expect_text "$err" 'export PATH='
expect_text "$err" "it uses LibTorch in $cache/libtorch-2.11.0"
for library in tables objects images serve; do
  expect "the library of $library is built for it" test -e "$checkout/build/release/bin/libddp_$library.so"
done
expect "others may use it with any umask" test -z "$(find "$prefix" ! -perm -o=r -o -type d ! -perm -o=rx)"
"$prefix/lib/ddp-exp/ddp-exp" run >"$out"
expect_text "$out" "models: linear second"

# An installation removes only the files of an earlier one.
mkdir "$prefix/bin"
touch "$prefix/share/ddp-exp/models/own.txt" "$prefix/bin/other"
rm "$checkout/models/second.txt"
ddp_exp --install "two words"
expect "it installs again: $(cat "$err")" test "$status" = 0
expect "a model that is gone is gone there too" test ! -e "$prefix/share/ddp-exp/models/second.txt"
expect "files of others stay" test -e "$prefix/share/ddp-exp/models/own.txt" -a -e "$prefix/bin/other"
"$prefix/lib/ddp-exp/ddp-exp" run >"$out"
expect_text "$out" "models: linear "
expect "nothing half-made stays" test -z "$(find "$prefix" -name '.ddp-exp*' -o -name '*.new')"

before=$(find "$prefix" -type f | sort | xargs -d '\n' sha256sum)
ddp_exp --install "$prefix"
expect "the same once more: $(cat "$err")" test "$status" = 0
expect "changes nothing" test "$before" = "$(find "$prefix" -type f | sort | xargs -d '\n' sha256sum)"

# LibTorch is installed too on request, and stays from then on.
ddp_exp --with-libtorch run
expect "it goes with --install alone" test "$status" = 2
ddp_exp --install "$prefix" --with-libtorch
expect "it installs LibTorch: $(cat "$err")" test "$status" = 0
expect_text "$err" "it uses LibTorch in $prefix/lib"
ddp_exp --install "$prefix"
expect_text "$err" "it uses LibTorch in $prefix/lib"
for file in torch/lib/libtorch_cpu.so torch/version.py nvidia/cu13/lib/libcudart.so.13; do
  cmp "$cache/libtorch-2.11.0/$file" "$prefix/lib/$file" || die "$file is not there"
done
rm -r "$prefix"
expect "LibTorch of the checkout is whole" cmp "$cache/libtorch-2.11.0/torch/version.py" - <<<"__version__ = '2.11.0'"

# In bin/ no hint about PATH is necessary.
PATH="$prefix/bin:$PATH" ddp_exp --install "$prefix"
expect "PATH has it" test -z "$(grep 'export PATH' "$err")"
