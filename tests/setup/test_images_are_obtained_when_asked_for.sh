#!/usr/bin/env bash
# Only an experiment with images installs the packages of the image library and builds it.
. "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"

library=$checkout/build/release/bin/libddp_images.so
# dpkg-query of a system that lacks the packages in $scratch/lacks, and an apt-get that installs all of them.
mkdir "$scratch/bin"
cat >"$scratch/bin/dpkg-query" <<FAKE
#!/bin/sh
for package; do grep -qx "\$package" "$scratch/lacks" || echo "\$package installed"; done
FAKE
cat >"$scratch/bin/apt-get" <<FAKE
#!/bin/sh
echo "\$*" >>"$scratch/apt-get.log"
: >"$scratch/lacks"
FAKE
chmod +x "$scratch"/bin/*
PATH=$scratch/bin:$PATH
printf '%s\n' libjpeg-dev libwebp-dev >"$scratch/lacks"

ddp_exp run
expect "set up: $(cat "$err")" test "$status" = 0
expect "a plain call builds nothing for images" test ! -e "$library"
expect "and installs nothing for them" test ! -e "$scratch/apt-get.log"

if ((EUID == 0)); then
  ddp_exp --obtain images
  expect "it is obtained: $(cat "$err")" test "$status" = 0
  expect_text "$err" "installing 2 packages: libjpeg-dev libwebp-dev"
  expect "the missing packages are installed" grep -q -- "install .*libjpeg-dev libwebp-dev" "$scratch/apt-get.log"
  chown -R nobody "$checkout" "$scratch/cache"
  printf '%s\n' libpng-dev >"$scratch/lacks"
  rm "$scratch/apt-get.log" "$library"
  # Without root: the message has the command to type.
  status=0
  setpriv --reuid=nobody --clear-groups env "HOME=$scratch" bash "$checkout/scripts/ddp-exp" --obtain images >"$out" \
    2>"$err" || status=$?
  expect "it stops with exit code 2, not $status" test "$status" = 2
  expect_text "$err" "apt-get install -y --no-install-recommends libpng-dev"
  expect "apt-get was not started" test ! -e "$scratch/apt-get.log"
fi

: >"$scratch/lacks"
ddp_exp --obtain images
expect "it is built: $(cat "$err")" test "$status" = 0 -a -s "$library"
expect "it runs nothing and leaves stdout alone" test ! -s "$out"
expect "Arrow was not requested" test ! -e "$cache/arrow-26.0.1"

ddp_exp --obtain images
expect "the second time nothing is to be done: $(cat "$err")" test ! -s "$err" -a "$status" = 0
echo "decoder two" >"$checkout/runner/new.txt"
ddp_exp run
expect "a plain call builds it again if its sources changed" grep -q "decoder two" "$library"

ddp_exp --obtain tables
expect "tables come beside them: $(cat "$err")" test "$status" = 0 -a -s "$library" -a -s "${library/images/tables}"
