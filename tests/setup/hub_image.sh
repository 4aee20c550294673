#!/usr/bin/env bash
# What `docker build -f hub/Dockerfile .` would do, in a bare Debian 12 with Python in /usr/local, as python:3.11-slim has
# it; then the server starts as the image's user. For machines without Docker; needs what bare_machine.sh says.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/bare_machine.sh"

reason=$(bare_machine_missing)
if [ -n "$reason" ]; then
  echo "Skipped: $reason."
  exit 0
fi
root=$(mktemp -d "${TMPDIR:-/tmp}/hub-image.XXXXXX")
trap 'remove_bare_machine "$root"' EXIT
trap 'exit 130' INT TERM
echo "Making a bare machine ..."
make_bare_machine "$root" python3,python3-venv,ca-certificates
on_bare_machine "$root" userdel --remove learner 2>/dev/null
on_bare_machine "$root" python3 -m venv /usr/local

# Where this machine's pip has other indexes than the default, as a build argument would say it.
index=${PIP_EXTRA_INDEX_URL:-$(sed -n 's/^extra-index-url = //p' "$root/etc/pip.conf")}
inside() {
  on_bare_machine "$root" su "$1" -c "export PATH=/usr/local/bin:\$PATH PIP_EXTRA_INDEX_URL='$index'; $2"
}
build=$(python3 "$here/hub_image.py" "$(cd "$here/../.." && pwd)" "$root")
eval "$build"
learner=$(on_bare_machine "$root" getent passwd 1000 | cut -d: -f1)
look='
set -e
test "$(id -u)" = 1000
! touch /opt/warp-to-cluster/labs/mine 2>/dev/null
test -s notebooks/00_welcome.ipynb
python -c "import labs.all_reduce, torch; from labs.course import doctor; doctor(); print(torch.__version__)"
jupyterhub-singleuser --version
g++ --version | head -1
'
on_bare_machine "$root" su - "$learner" -c \
  "export PATH=/usr/local/bin:\$PATH; cd ~; $ENTRYPOINT sh -c $(printf %q "$look")"
cp "$here/answering_lab.py" "$root/home/$learner/"
on_bare_machine "$root" su - "$learner" -c \
  "export PATH=/usr/local/bin:\$PATH; cd ~; $ENTRYPOINT python answering_lab.py jupyter lab --no-browser"
echo "The image's steps work; its command would be: $ENTRYPOINT $CMD"
