#!/bin/sh
# Make the root of the `builder` base, a Debian with apt, from fetched packages: builder.sh WORK
#
# Maintainer scripts run in a chroot, so this wants root: the host's, that of a user namespace, or a container's.
#
# From the environment: ARCH, POCKETS, SECURITY, EXCLUDE, INCLUDE, SOURCE_DATE_EPOCH.
set -eu
work=$1
here=$(dirname "$0")
root=$work/root
umask 022
mkdir -p "$root/usr/share/tsandbox"
sh "$here/unpack.sh" "$work" "$root"
cd "$root"

# Debian's default mirror, as the apt package itself documents it, whatever this host fetched from: a mirror is a setting
# of a build, not a property of the base.
default_mirror=$(dpkg-deb --fsys-tarfile "$work"/apt/archives/apt_*.deb |
  tar -x -O --wildcards -f - './usr/share/doc/apt/examples/*sources*' |
  sed -n -E 's#^(deb|URIs:) +(https?://[^ ]+/debian)/?( .*)?$#\2#p' | head -n 1)
[ -n "$default_mirror" ] || { echo "builder.sh: the apt package names no default mirror" >&2; exit 1; }
cat > etc/apt/sources.list.d/debian.sources <<SOURCES
Types: deb
URIs: $default_mirror
Suites: $POCKETS
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: $default_mirror-security
Suites: $SECURITY
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES
rm -f etc/apt/sources.list

# Without these, every layer made with apt carries some 75 MB of caches.
cat > etc/apt/apt.conf.d/50tsandbox <<'CONF'
APT::Install-Recommends "false";
APT::Keep-Downloaded-Packages "false";
Acquire::GzipIndexes "true";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
DPkg::Post-Invoke { "sh /usr/share/tsandbox/packages.sh < /var/lib/dpkg/status > /usr/share/tsandbox/packages.tsv"; };
CONF
cp "$here/packages.sh" usr/share/tsandbox/packages.sh
# Settings and caches of the machine that builds are mounted over these for the time of a step; here they are empty.
# They have to exist: an engine that makes a mount point for a step leaves it in the layer.
: > etc/apt/apt.conf.d/99host
: > etc/apt/host-ca.crt
: > etc/apt/host-packages.sh
mkdir -p var/cache/apt/shared
# The sandbox mounts its runner there; the name by which people find it leads to it.
mkdir -p usr/local/bin usr/local/lib/tsandbox
ln -s ../lib/tsandbox/tsandbox usr/local/bin/tsandbox

{
  echo force-unsafe-io
  set -f
  for pattern in $EXCLUDE; do echo "path-exclude=$pattern"; done
  for pattern in $INCLUDE; do echo "path-include=$pattern"; done
  set +f
} > etc/dpkg/dpkg.cfg.d/50tsandbox

printf 'Package: usrmerge\nPin: release *\nPin-Priority: -1\n' > etc/apt/preferences.d/50tsandbox
printf '#!/bin/sh\nexit 101\n' > usr/sbin/policy-rc.d
chmod 755 usr/sbin/policy-rc.d

# Device nodes are not ours to make in every namespace, and maintainer scripts only ever write to this one.
[ -e dev/null ] || : > dev/null
mkdir -p tsandbox-packages
for package in "$work"/apt/archives/*.deb; do ln "$package" tsandbox-packages/ || cp "$package" tsandbox-packages/; done
in_root() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive \
    DEBCONF_NONINTERACTIVE_SEEN=true SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" chroot "$root" "$@"
}
in_root sh -c 'dpkg --install --force-depends --force-confold tsandbox-packages/*.deb' > "$work/dpkg.log" 2>&1 || {
  tail -n 40 "$work/dpkg.log" >&2
  exit 1
}
in_root dpkg --audit >&2
in_root sh /usr/share/tsandbox/packages.sh < var/lib/dpkg/status > usr/share/tsandbox/packages.tsv
rm -rf tsandbox-packages dev/null

sh "$here/prune.sh" "$root"
# Packages whose manual lies elsewhere (OpenJDK's) fail to install where these are missing: update-alternatives makes no
# directories.
for section in 1 2 3 4 5 6 7 8 9; do mkdir -p "usr/share/man/man$section"; done
# What differs between two runs, or names this machine.
rm -rf run/* tmp/* var/tmp/* var/log/* var/cache/ldconfig/* var/cache/apt/*.bin var/cache/debconf/*-old \
  var/lib/dpkg/*-old var/lib/apt/lists/* var/backups/* etc/machine-id etc/hostname etc/resolv.conf etc/.pwd.lock \
  etc/passwd- etc/group- etc/shadow- etc/gshadow- etc/ld.so.cache- var/lib/dpkg/lock* var/lib/dpkg/triggers/Lock \
  var/lib/dpkg/info/*.symbols

# Debconf's questions stay, their translations go as those of the programs did: about 1 MB.
for templates in var/lib/dpkg/info/*.templates var/cache/debconf/templates.dat; do
  LC_ALL=C awk '!/^ / { translated = tolower($1) ~ /^[a-z_]+-[^:]*\.utf-8:$/ } !translated' "$templates" > "$work/templates"
  cat "$work/templates" > "$templates"
done

# What closure.sh tells an installation's work by: files that no package owns, and accounts.
mkdir -p usr/share/tsandbox/accounts
for file in passwd group shadow gshadow subuid subgid; do
  [ ! -e "etc/$file" ] || cp -p "etc/$file" usr/share/tsandbox/accounts/
done
sed -E 's#^/(bin|sbin|lib|lib64)/#/usr/\1/#; s#^/##' var/lib/dpkg/info/*.list > "$work/owned"
{
  find . -type d -printf '%P\td\t%m\n'
  find . -type l -printf '%P\tl\t%l\n'
  find . -type f -exec sha256sum {} + | sed -E 's|^([0-9a-f]+)  \./(.*)|\2\tf\t\1|'
} | LC_ALL=C sort | awk -F '\t' 'NR == FNR { owned[$0] = 1; next } !($1 in owned) && $1 !~ "^var/lib/dpkg/|^usr/share/tsandbox"' "$work/owned" - > "$work/pristine.tsv"
mv "$work/pristine.tsv" usr/share/tsandbox/
sh "$here/pack.sh" "$work"
