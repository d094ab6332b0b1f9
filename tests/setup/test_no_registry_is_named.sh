#!/usr/bin/env bash
# Packages are asked for by name; from where is the business of the machine's own settings.
set -euo pipefail
cd "${DDP_SOURCE:-$(dirname "${BASH_SOURCE[0]}")/../..}"

# Each name in two parts, or this file would hold it.
hosts="pypi"".org|python""hosted|download.""pytorch|deb.""debian|archive.""ubuntu|index""-url=|--extra""-index"
if git rev-parse --git-dir >/dev/null 2>&1; then
  found=$(git grep -nE "$hosts" -- . || true)
else
  found=$(grep -rnE "$hosts" --exclude-dir=build --exclude-dir=results . || true)
fi
[[ -z "$found" ]] || { printf 'FAILED: these lines name a registry:\n%s\n' "$found"; exit 1; }
