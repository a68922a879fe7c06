#!/bin/sh
# Fetch Debian packages into a private directory: fetch.sh WORK exact|closure PACKAGE...
#
# `exact` takes the packages alone, `closure` adds what an installation of them into an empty system needs, Debian's
# essential packages included. The host's proxy, credentials and CA settings for apt stay in force; its sources,
# preferences and state do not. apt refuses an index whose signature is not by the archive's keyring, and a package
# whose hash is not in the index.
#
# The CA bundle is taken from its package without installing it, because that would bring openssl along.
#
# From the environment: MIRROR and SECURITY_MIRROR (else those of the Debian that this runs on), CA_BUNDLE (optional),
# POCKETS, SECURITY, ARCH, KEYRING.
set -eu
work=$1 how=$2
shift 2
: "${MIRROR:=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* /usr/share/doc/apt/examples/*sources* 2> /dev/null |
  sed -n -E 's#^(deb( \[[^]]*\])?|URIs:) +(https?://[^ ]+/debian)/?( .*)?$#\3#p' | head -n 1)}"
: "${SECURITY_MIRROR:=$MIRROR-security}"
[ -n "$MIRROR" ] || { echo "fetch.sh: no mirror is known: set TSANDBOX_APT_MIRROR" >&2; exit 1; }
apt=$work/apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/log" "$work/certificates"
: > "$apt/status"

{
  for pocket in $POCKETS; do
    echo "deb [signed-by=$KEYRING] $MIRROR $pocket main"
  done
  echo "deb [signed-by=$KEYRING] $SECURITY_MIRROR $SECURITY main"
} > "$apt/sources.list"

# A system that was never split has no use for the package that merges it, nor for the perl that comes with it.
printf 'Package: usrmerge\nPin: release *\nPin-Priority: -1\n' > "$apt/preferences"

# Hooks of the host (desktop notifications, snapshots) are not for a directory that is not the host.
cat > "$apt/apt.conf" <<CONF
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::Contents-deb;
#clear Acquire::IndexTargets::deb::Contents-deb-legacy;
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "$apt/preferences";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::State::Lists "$apt/lists";
Dir::Cache "$apt";
Dir::Cache::Archives "$apt/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Log "$apt/log";
APT::Architecture "$ARCH";
#clear APT::Architectures;
APT::Architectures { "$ARCH"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::Languages "none";
Acquire::Retries "3";
CONF
[ -z "${CA_BUNDLE:-}" ] || echo "Acquire::https::CaInfo \"$CA_BUNDLE\";" >> "$apt/apt.conf"
# Read with -c, which comes after the host's own files; APT_CONFIG would come before them.
get() { apt-get --quiet=2 -c "$apt/apt.conf" "$@"; }

get update
(cd "$work/certificates" && get download ca-certificates)
case $how in
  exact) cd "$apt/archives" && get download "$@" ;;
  closure) get --assume-yes --download-only install '?essential' "$@" ;;
esac
