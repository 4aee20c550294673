#!/usr/bin/env bash
# Let the grader isolate answers on a machine that forbids it: Ubuntu 24.04 and newer, so also GitHub's runners.
#
# The grader runs each answer in Linux namespaces. Ubuntu's AppArmor denies them to ordinary users until root changes
# the setting below. It lasts until the machine is started again; on a runner that is used once that is just right.
# Where the setting does not exist or is off there is nothing to do.
set -euo pipefail

setting=kernel.apparmor_restrict_unprivileged_userns
if [ "$(cat "/proc/sys/${setting//.//}" 2>/dev/null || echo 0)" = 0 ]; then
  echo "Nothing stands in the way of isolation here that $setting could lift."
elif [ "$(id -u)" -eq 0 ]; then
  echo "Root isolates answers without changing $setting."
else
  sudo sysctl -w "$setting=0"
fi
