#!/usr/bin/env bash
# Grade a class without anybody watching: in CI, by cron, or by hand.
#
#   ci/grade.sh SUBMISSIONS OUT [OPTION...]
#
# SUBMISSIONS   a folder with a folder for each learner, and their notebooks in it
# OUT           where results.json, gradebook.csv, summary.md, index.html and feedback/ go; kept from one run to the next,
#               so that only what changed is graded
# OPTION        passed on to `python -m labs grade`, for example --require-isolation or --jobs 4
#
# LABS_SEED     (required) the class's seed: the same seed gives every learner, and every run, the same secret cases
# LABS_PYTHON   a Python that has the course's packages; without it the course sets up its own in .venv
#
# Two runs on one machine do not meet: the second waits for the first. Exits as `labs grade` does.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
course=$(cd "$(dirname "$0")/.." && pwd)
submissions=$(realpath -e -- "$1")
mkdir -p -- "$2"
out=$(realpath -e -- "$2")
shift 2

if [ -z "${LABS_SEED:-}" ]; then
  echo "LABS_SEED is empty. Choose a long random text once, keep it secret, and give it to every run." >&2
  echo "On GitHub: Settings, Secrets and variables, Actions, New repository secret, name LABS_SEED." >&2
  exit 2
fi
export LABS_SEED

cd "$course"
exec 9>"$out/.lock"
flock 9
make --no-print-directory setup >&2
status=0
"${LABS_PYTHON:-.venv/bin/python}" -m labs grade "$submissions" --out "$out" "$@" || status=$?
[ ! -s "$out/summary.md" ] || ci/summary.sh "$out"
exit "$status"
