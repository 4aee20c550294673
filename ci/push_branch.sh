#!/usr/bin/env bash
# Make a branch of the repository hold exactly what is in a folder: one commit without history, pushed to origin.
#
#   ci/push_branch.sh FOLDER BRANCH
set -euo pipefail

folder=$(realpath -e -- "${1:?usage: ci/push_branch.sh FOLDER BRANCH}")
branch=${2:?usage: ci/push_branch.sh FOLDER BRANCH}
cd "$(dirname "$0")/.."
if [ "$branch" = "$(git symbolic-ref --quiet --short HEAD || true)" ]; then
  echo "$branch is checked out here; its history would be lost." >&2
  exit 2
fi

index=$(mktemp -u)
trap 'rm -f "$index"' EXIT
export GIT_INDEX_FILE=$index GIT_AUTHOR_NAME=${GIT_AUTHOR_NAME:-ci} GIT_AUTHOR_EMAIL=${GIT_AUTHOR_EMAIL:-ci@localhost}
export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
git --work-tree="$folder" add --all --force .
commit=$(git commit-tree -m "Derived from $(git rev-parse --short HEAD)" "$(git write-tree)")
git push --quiet --force origin "$commit:refs/heads/$branch"
echo "$branch holds $(git ls-tree -r "$commit" | wc -l) files."
