#!/usr/bin/env bash
# Makes sure the packages that the build needs are there. As root it installs
# what is missing; else it says exactly what to type. More packages can be
# named as arguments.
set -euo pipefail

packages=(llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools clang-22
          libclang-rt-22-dev clang-format-22 lld-22 cmake ninja-build ccache
          flex bison libgtest-dev nlohmann-json3-dev python3 python3-numpy)
if [ $# -gt 0 ]; then packages=("$@"); fi

if ! command -v dpkg-query >/dev/null; then
  # Not a Debian system: the tools may still be there.
  missing=()
  for tool in clang++-22 mlir-tblgen-22 cmake ninja flex bison python3; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [ ${#missing[@]} -eq 0 ] && exit 0
  echo "error: expected these tools on PATH: ${missing[*]}" >&2
  echo "note: the build is tested on Debian 12, where the packages are: ${packages[*]}" >&2
  exit 1
fi

# Prints those of its arguments that are not installed.
missing_of() {
  local name
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
  done
}

mapfile -t missing < <(missing_of "${packages[@]}")
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "error: missing packages; install them and call make again:" >&2
  echo "  sudo apt-get update && sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  echo "note: LLVM 22 is in Debian 12's security suite (bookworm-security)" >&2
  exit 1
fi

# Prints the missing packages of which apt knows no installable version.
unknown() {
  local name policy
  for name in "${missing[@]}"; do
    policy=$(apt-cache policy "$name" 2>/dev/null)
    [[ $policy =~ Candidate:\ [^\(] ]] || echo "$name"
  done
}

echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
[ -z "$(unknown)" ] || apt-get update
if [ -n "$(unknown)" ]; then
  echo "error: apt knows no package of these names:" $(unknown) >&2
  echo "note: LLVM 22 is in Debian 12's security suite; /etc/apt/sources.list needs a line like" >&2
  echo "  deb http://deb.debian.org/debian-security bookworm-security main" >&2
  exit 1
fi
# A package list that is older than the archive names files that are gone.
apt-get install -y --no-install-recommends "${missing[@]}" ||
  { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; }
