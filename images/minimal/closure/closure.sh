#!/bin/sh
# Copy installed packages, with all they depend on and all that their installation made, out of a complete Debian into
# a root that is then laid over the `runtime` base:
#
#   closure.sh ROOTFS [PACKAGE...]
#
# It runs in the builder stage of an image right after `apt-get install`, with what every Debian has: a shell, awk,
# coreutils, findutils, tar, dpkg. Beside it lie files of the runtime base, so that nothing is carried twice: `status`
# (its packages), `files.tsv` (its files), `passwd` and `group`.
#
# It leaves in the image /var/lib/dpkg/status, for scanners and the SBOM, and /usr/share/tsandbox/packages.tsv (name,
# version and architecture, sorted), for those who want to know whether a package is there.
set -eu
export LC_ALL=C
umask 022
[ $# -ge 1 ] || { echo "usage: closure.sh ROOTFS [PACKAGE...]" >&2; exit 2; }
rootfs=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
base=/usr/share/tsandbox
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$rootfs"
native=$(dpkg --print-architecture)

# Directories in these stay (nginx wants /var/log/nginx), their contents do not.
volatile='^var/(cache|log)/'
unwanted='^(root/|usr/share/(man|doc|info|tsandbox)/|etc/apt/|usr/sbin/policy-rc\.d$|var/lib/(apt|dpkg)/|var/backups/)'
unwanted="$unwanted|^etc/((hostname|hosts|resolv\\.conf|\\.pwd\\.lock|machine-id|ld\\.so\\.cache)\$|(passwd|group|shadow|gshadow|subuid|subgid)-?\$)"
unwanted="$unwanted|^(\\.dockerenv|var/lib/(systemd/random-seed|dbus/machine-id))\$"

# --- Which packages, and what they own
resolve() {
  awk -v native="$native" -v declared="$*" -f "$here/resolve.awk" /var/lib/dpkg/status > "$work/packages"
  sort -o "$work/packages" "$work/packages"
  while IFS="$(printf '\t')" read -r name arch _; do
    list=/var/lib/dpkg/info/$name:$arch.list
    [ -e "$list" ] || list=/var/lib/dpkg/info/$name.list
    cat "$list"
  done < "$work/packages" > "$work/theirs"
}
resolve "$@"
# Packages do not name what they need of a system's essential part: some files cannot do without.
unsaid=$(awk -F '\t' 'NR == FNR { needs[$2] = $1; next } { for (pattern in needs) if ($0 ~ pattern) print needs[pattern] }' \
  "$here/unsaid.tsv" "$work/theirs" | sort -u)
[ -z "$unsaid" ] || resolve "$@" $unsaid

# --- Which other files
cat /var/lib/dpkg/info/*.list > "$work/owned"
cd /
everything() {
  find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o -path ./tmp -o -path ./var/tmp \
    -o -path "./${rootfs#/}" -o -path "./${here#/}" \) -prune -o "$@"
}
everything \( -type d -printf '%P\td\t%m\n' -o -type l -printf '%P\tl\t%l\n' -o -printf '%P\t%y\t%m\n' \) > "$work/inventory"
everything -type f -links +1 -printf '%D:%i\t%P\n' > "$work/hard"
everything -type l -xtype d -print | while read -r link; do
  printf '%s\t%s\n' "${link#./}" "$(readlink -f "$link" | cut -c2-)"
done > "$work/links"
awk -F '\t' '$2 == "f" { print $1 }' "$here/files.tsv" "$base/pristine.tsv" | sort -u > "$work/known"
while read -r path; do [ ! -f "$path" ] || [ -L "$path" ] || printf '%s\0' "$path"; done < "$work/known" |
  xargs -0 -r sha256sum | sed 's/  /\t/' > "$work/hashes"
# What the installation of packages of the builder base itself had made, by package: it is theirs as well.
adopted=$(cut -f1 "$work/packages" | awk -F '\t' '
  NR == FNR { pattern[$1] = $2; next }
  $1 in pattern { print pattern[$1] }' "$here/adopted.tsv" - | paste -sd '|')
awk -v volatile="$volatile" -v unwanted="$unwanted" -v adopted="$adopted" -v undocumented='^/usr/share/(man|doc|info)/' -f "$here/paths.awk" \
  part=links "$work/links" part=theirs "$work/theirs" part=owned "$work/owned" part=pristine "$base/pristine.tsv" \
  part=runtime "$here/files.tsv" part=hashes "$work/hashes" part=inventory "$work/inventory" > "$work/paths"

# --- Lay them out
# Directories first, with their parents, so that each has its own mode and owner. Files are linked, not copied: that
# keeps capabilities, set-user-id bits and hard links, and costs neither time nor space in this layer.
sed 's/^[df]\t//' "$work/paths" | awk '{
  n = split($0, parts, "/")
  path = ""
  for (i = 1; i < n; i++) { path = path (i > 1 ? "/" : "") parts[i]; print path }
}' > "$work/directories"
sed -n 's/^d\t//p' "$work/paths" >> "$work/directories"
sort -u "$work/directories" | grep . | tar -c --no-recursion -T - -f - | tar -x -p -C "$rootfs" -f -
sed -n 's/^f\t//p' "$work/paths" | tr '\n' '\0' | xargs -0 -r cp -d --link --parents -t "$rootfs"

# Linking a file of the layer below copies it up by one of its names: the names of one file are brought together again.
sort "$work/hard" | while IFS="$(printf '\t')" read -r file path; do
  [ -f "$rootfs/$path" ] || continue
  if [ "$file" = "${known_file-}" ]; then ln -f "$rootfs/$known_path" "$rootfs/$path"; else known_file=$file known_path=$path; fi
done

# --- Accounts
for file in passwd group shadow gshadow subuid subgid; do
  cmp -s "etc/$file" "$base/accounts/$file" && continue
  [ -e "etc/$file" ] || continue
  mkdir -p "$rootfs/etc"
  cp -p "etc/$file" "$rootfs/etc/$file"
  [ -e "$here/$file" ] || : > "$here/$file"
  [ -e "$base/accounts/$file" ] || : > "$base/accounts/$file"
  awk -f "$here/accounts.awk" part=before "$base/accounts/$file" part=now "etc/$file" part=runtime "$here/$file" \
    > "$rootfs/etc/$file"
done

# --- The loader's cache, for the image as a whole
awk -F '\t' '$1 ~ /^usr\/lib|^etc\/ld\.so\.conf/ && $2 != "d" { print $1 }' "$here/files.tsv" | while read -r path; do
  [ -e "$path" ] && [ ! -e "$rootfs/$path" ] && [ ! -L "$rootfs/$path" ] && printf '%s\n' "$path"
done > "$work/borrowed" || :
tr '\n' '\0' < "$work/borrowed" | xargs -0 -r cp -d --link --parents -t "$rootfs"
merged=
for link in lib lib64 lib32 libx32; do
  [ ! -L "/$link" ] || { ln -s "usr/$link" "$rootfs/$link" && merged="$merged $link"; }
done
ldconfig -X -r "$rootfs"
(cd "$rootfs" && rm -rf var/cache/ldconfig $merged && tr '\n' '\0' < "$work/borrowed" | xargs -0 -r rm -f --)

# --- What the image holds
mkdir -p "$rootfs/var/lib/dpkg" "$rootfs$base"
awk -v wanted="$work/packages" -v second="$here/status" -f "$here/status.awk" /var/lib/dpkg/status "$here/status" \
  > "$rootfs/var/lib/dpkg/status"
sh "$base/packages.sh" < "$rootfs/var/lib/dpkg/status" > "$rootfs$base/packages.tsv"
