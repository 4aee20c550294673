#!/usr/bin/env bash
# Install what the tests need and pip cannot bring, or say what is missing. Arguments: none.
set -euo pipefail

missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
command -v chromium-browser >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || need chromium chromium
need git git
need npm npm
need ip iproute2
need g++ g++
need make make
need pkg-config pkg-config
# Python's C headers, for C++ cells; Debian keeps those of its own Python in a package.
python=${PYTHON:-python3}
has_headers='import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'
"$python" -c "$has_headers" || missing+=("$("$python" -c 'import sys; print("python%d.%d-dev" % sys.version_info[:2])')")
# Libraries whose headers the C++ lessons' readers use; without one of them its part is left out.
if command -v dpkg >/dev/null 2>&1; then
  for package in libarmadillo-dev libhdf5-dev libjpeg-dev libxtensor-dev locales zlib1g-dev; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
  done
fi
[ ${#missing[@]} -eq 0 ] && exit 0

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
  echo "Installing: ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" fonts-dejavu-core >/dev/null
else
  echo "Some checks need packages that are not here: ${missing[*]}" >&2
  echo "On Debian or Ubuntu: sudo apt-get install ${missing[*]}" >&2
  echo "Going on without them; the tests that need them are skipped and say so." >&2
fi
