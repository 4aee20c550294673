#!/usr/bin/env bash
# Show the points of a results folder: on the page of a GitHub workflow, elsewhere in the log.
#
#   ci/summary.sh DIR    DIR as given to `labs grade --out`
set -euo pipefail

summary=${1:?usage: ci/summary.sh DIR}/summary.md
if [ ! -s "$summary" ]; then
  echo "$summary is not there: nothing was graded." >&2
  exit 1
fi
cat "$summary" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
