#!/bin/sh
# Make the root of the `runtime` base from fetched packages: runtime.sh WORK
#
# Packages are unpacked, not installed: no maintainer script runs, so this needs no privilege and no emulation. The few
# things that maintainer scripts would have made are made here.
#
# From the environment: TRIPLET, APPLETS, SOURCE_DATE_EPOCH.
set -eu
work=$1
here=$(dirname "$0")
root=$work/root
umask 022
mkdir -p "$root/usr/share/tsandbox"
sh "$here/unpack.sh" "$work" "$root"
cd "$root"

# bash is not here.
sed 's|^\(root:.*:\)/bin/bash$|\1/bin/sh|' usr/share/base-passwd/passwd.master > etc/passwd
cp usr/share/base-passwd/group.master etc/group
cp usr/share/libc-bin/nsswitch.conf etc/nsswitch.conf
ln -sf /usr/share/zoneinfo/Etc/UTC etc/localtime
echo Etc/UTC > etc/timezone
rm -rf var/run var/lock
ln -s /run var/run
ln -s /run/lock var/lock
mkdir -p run/lock

tr '\0' '\n' < usr/bin/busybox > "$work/applets"
for applet in $APPLETS; do
  grep -qxF -- "$applet" "$work/applets" || { echo "runtime.sh: busybox has no $applet" >&2; exit 1; }
  ln -s busybox "usr/bin/$applet"
done

# The sandbox mounts its runner there; the name by which people find it leads to it.
mkdir -p usr/local/bin usr/local/lib/tsandbox
ln -s ../lib/tsandbox/tsandbox usr/local/bin/tsandbox

chmod 1777 tmp var/tmp run/lock
chmod 700 root
sh "$here/prune.sh" "$root"

# Scanners and our SBOM read what is in here, though nothing here could install more.
for package in "$work"/apt/archives/*.deb "$work"/certificates/*.deb; do
  dpkg-deb --field "$package" | sed '/^Package:/a Status: install ok installed'
  echo
done > var/lib/dpkg/status
sh "$here/packages.sh" < var/lib/dpkg/status > usr/share/tsandbox/packages.tsv

# What a closure image need not carry again (closure.sh): path, kind, and hash or target.
{
  find . -type d -printf '%P\td\t%m\n'
  find . -type l -printf '%P\tl\t%l\n'
  find . -type f -exec sha256sum {} + | sed 's|^\([0-9a-f]*\)  \./\(.*\)|\2\tf\t\1|'
} | LC_ALL=C sort > "$work/files.tsv"
mv "$work/files.tsv" usr/share/tsandbox/files.tsv
sh "$here/pack.sh" "$work" --owner=0 --group=0
