#!/usr/bin/env bash
# Packages are requested by name; the machine's own settings decide the registry.
set -euo pipefail
cd "${DDP_SOURCE:-$(dirname "${BASH_SOURCE[0]}")/../..}"

# Each name is split in two parts, because otherwise this file would contain it.
hosts="pypi"".org|python""hosted|download.""pytorch|deb.""debian|archive.""ubuntu|index""-url=|--extra""-index"
if git rev-parse --git-dir >/dev/null 2>&1; then
  found=$(git grep -nE "$hosts" -- . || true)
else
  found=$(grep -rnE "$hosts" --exclude-dir=build --exclude-dir=results . || true)
fi
[[ -z "$found" ]] || { printf 'FAILED: these lines name a registry:\n%s\n' "$found"; exit 1; }
