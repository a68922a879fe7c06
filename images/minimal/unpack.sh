#!/bin/sh
# Unpack all fetched packages into a root whose /usr is merged, and add the CA bundle: unpack.sh WORK ROOT
set -eu
work=$1 root=$2
umask 022
for directory in bin sbin lib; do
  mkdir -p "$root/usr/$directory"
  ln -s "usr/$directory" "$root/$directory"
done
if [ "$ARCH" = amd64 ]; then
  mkdir -p "$root/usr/lib64"
  ln -s usr/lib64 "$root/lib64"
fi
mkdir -p "$root/var/lib/dpkg" "$root/etc/ssl/certs" "$work/certificates/root"
for package in "$work"/apt/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x -p -C "$root" --keep-directory-symlink -f -
done

# update-ca-certificates takes the certificates in this order, and makes each end with a newline.
dpkg-deb --fsys-tarfile "$work"/certificates/*.deb | tar -x -C "$work/certificates/root" -f -
cd "$work/certificates/root"
find usr/share/ca-certificates -name '*.crt' | LC_ALL=C sort | while read -r certificate; do
  sed '$a\' "$certificate"
done > "$root/etc/ssl/certs/ca-certificates.crt"
# Where OpenSSL looks, as its package would have it.
mkdir -p "$root/usr/lib/ssl"
ln -s /etc/ssl/certs "$root/usr/lib/ssl/certs"
ln -s /etc/ssl/certs/ca-certificates.crt "$root/usr/lib/ssl/cert.pem"
