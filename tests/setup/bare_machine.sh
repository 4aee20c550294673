#!/usr/bin/env bash
# A bare Debian in a folder, and commands run inside it as on a machine of its own. To be sourced.
#
#   bare_machine_missing            print why it cannot be made here; nothing when it can
#   make_bare_machine DIR PACKAGES  Debian 12 (its Python is 3.11) with these packages (a,b,c) and nothing else
#   on_bare_machine DIR COMMAND...  run a command there; what it starts and mounts ends with it, also on failure
#   remove_bare_machine DIR         end the command that still runs, and remove the folder: for `trap ... EXIT`
#
# Needs root, debootstrap, util-linux and Debian's packages (BARE_MIRROR names a mirror; else this machine's own). How
# this machine reaches its package indexes (pip's and npm's settings, certificates, proxies) is taken over at run time.

bare_machine_missing() {
  [ "$(uname -s)" = Linux ] || { echo "a bare machine is made with Linux namespaces, and this is $(uname -s)"; return; }
  [ "$(id -u)" -eq 0 ] || { echo "only root can make a bare machine (try sudo)"; return; }
  local program
  for program in debootstrap unshare pivot_root git python3; do
    command -v "$program" >/dev/null || { echo "the program $program is missing (on Debian: apt install $program)"; return; }
  done
  unshare --mount --pid --fork true 2>/dev/null || echo "this system does not allow new namespaces"
}

make_bare_machine() {
  local root=$1 packages=$2
  debootstrap --variant=minbase --include="$packages" bookworm "$root" "$(_debian_mirror)" >"$root.log" 2>&1 ||
    { tail -5 "$root.log" >&2; rm -f "$root.log"; echo "debootstrap failed" >&2; return 1; }
  rm -f "$root.log"
  chmod 755 "$root"  # it becomes /
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  local certificates=/etc/ssl/certs/ca-certificates.crt
  [ -s "$certificates" ] && mkdir -p "$root/etc/ssl/certs" && cp "$certificates" "$root$certificates"
  apt-config dump 2>/dev/null | grep -E '^Acquire::(https?::Proxy|Check)' >"$root/etc/apt/apt.conf.d/50this-machine" || true
  _pip_settings >"$root/etc/pip.conf"
  useradd --root "$root" --create-home --shell /bin/bash learner
}

# The environment of a machine of its own, plus what tells programs how to reach the network from here.
on_bare_machine() {
  local root=$1 variable
  shift
  local given=(HOME=/root USER=root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
  for variable in $(compgen -e | grep -iE '^(https?_proxy|no_proxy|npm_config_.*|.*_CA_BUNDLE|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS)$'); do
    given+=("$variable=${!variable}")
  done
  unshare --mount --pid --fork --kill-child --propagation private -- \
    bash -euc '
      root=$1; shift
      mount --bind "$root" "$root"
      cd "$root"
      mkdir -p old proc sys dev/shm dev/pts
      mount -t proc proc proc
      mount -t sysfs -o ro sysfs sys
      mount -t tmpfs tmpfs dev/shm
      mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
      while read -r folder; do                     # folders on this machine that pip is told to look at
        folder=${folder%/simple}                   # an index lies beside its files
        [ -d "$folder" ] || continue
        mkdir -p ".$folder"
        mount --bind "$folder" ".$folder"
        mount -o remount,bind,ro ".$folder"
      done < <(grep -oE "(/[A-Za-z0-9._-]+)+" etc/pip.conf | sort -u)
      pivot_root . old                             # not chroot: inside one, Linux refuses user namespaces
      umount -l /old
      exec env -i "$@" </dev/null' bare "$root" "${given[@]}" "$@" &
  bare_command=$!  # in the background, so that a signal to this script is heard at once
  wait "$bare_command"
}

remove_bare_machine() {
  [ -z "${bare_command:-}" ] || kill -KILL "$bare_command" 2>/dev/null || true
  wait 2>/dev/null
  rm -rf --one-file-system "$1"
}

_debian_mirror() {
  local found
  found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    grep -E '^(URIs:|deb )' | grep -oE 'https?://[^ ]*/debian/?( |$)' | head -1)
  echo "${BARE_MIRROR:-${found:-http://deb.debian.org/debian}}"
}

_pip_settings() {
  python3 - <<'PYTHON'
import ast, subprocess, sys

lines = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True).stdout
wanted = ("cert", "extra-index-url", "find-links", "index-url", "proxy", "timeout", "trusted-host")
pairs = (line.partition("=")[::2] for line in filter(None, lines.splitlines()))
settings = {name.rpartition(".")[2]: ast.literal_eval(value) for name, value in pairs}  # the last one wins, as in pip
print("[global]", *(f"{name} = {' '.join(settings[name].split())}" for name in wanted if name in settings), sep="\n")
PYTHON
}
