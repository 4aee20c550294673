#!/usr/bin/env bash
# The README's two commands on a bare machine: Debian 12 with Python 3.11, make and g++, and nothing else.
#
#   fresh_machine.sh [lab|test]...    both by default; `lab` runs as an ordinary user, `test` as root
#
# Tests what is committed. Needs what bare_machine.sh says; where that is not here it says so and exits with 0.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/bare_machine.sh"

reason=$(bare_machine_missing)
if [ -n "$reason" ]; then
  echo "Skipped: $reason."
  exit 0
fi
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(lab test)

root=$(mktemp -d "${TMPDIR:-/tmp}/fresh-machine.XXXXXX")
trap 'remove_bare_machine "$root"' EXIT
trap 'exit 130' INT TERM
echo "Making a bare machine ..."
make_bare_machine "$root" python3,python3-venv,make,g++,ca-certificates

try_lab() {
  git clone --quiet --no-hardlinks "$here/../.." "$root/home/learner/course"
  chown -R --reference="$root/home/learner" "$root/home/learner/course"
  cp "$here/answering_lab.py" "$root/home/learner/"
  on_bare_machine "$root" su learner -c 'cd ~/course && exec python3 ~/answering_lab.py make lab'
}

try_test() {
  git clone --quiet --no-hardlinks "$here/../.." "$root/root/course"
  on_bare_machine "$root" bash -c 'cd ~/course && exec make test'
}

for part in "${parts[@]}"; do
  echo "== make $part"
  start=$SECONDS
  "try_$part"
  echo "== make $part works on a bare machine ($((SECONDS - start)) s)"
done
