#!/bin/sh
# Archives of one signed package each, for dnf and zypper and for pacman, and a certificate to serve them with.
# They are made and used in the image of test_families.py, where the tools of three other distributions are installed.
set -eu
export GNUPGHOME=/tmp/keys
mkdir -m 700 $GNUPGHOME
mkdir -p /srv/www/rpm /srv/www/arch /tmp/made/usr/bin
gpg --batch --quiet --passphrase '' --quick-generate-key made@example.com rsa2048 sign never
gpg --armor --export made@example.com > /srv/www/made.key
openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
  -keyout /srv/key.pem -out /srv/certificate.pem 2> /dev/null
cat /srv/certificate.pem >> /etc/ssl/certs/ca-certificates.crt
printf '#!/bin/sh\necho made by hand\n' > /tmp/made/usr/bin/made
chmod 755 /tmp/made/usr/bin/made

# Debian's rpm keeps its database in the user's home, and zypper looks where SUSE has it.
echo '%_dbpath /var/lib/rpm' > /root/.rpmmacros
mkdir -p /var/lib/rpm /etc/yum.repos.d /etc/zypp/repos.d /etc/dnf/vars
echo 40 > /etc/dnf/vars/releasever
cat > /tmp/made.spec <<'SPEC'
Name: made
Version: 1.0
Release: 1
Summary: made
License: MIT
BuildArch: noarch
AutoReqProv: no
%description
made
%install
cp -R /tmp/made/usr %{buildroot}/
%files
/usr/bin/made
SPEC
rpmbuild -bb --quiet --define '_topdir /tmp/rpm' /tmp/made.spec
cp /tmp/rpm/RPMS/noarch/*.rpm /srv/www/rpm/
rpmsign --define '__gpg /usr/bin/gpg' --define '_gpg_name made@example.com' --addsign /srv/www/rpm/*.rpm
createrepo_c --quiet /srv/www/rpm
gpg --batch --quiet --armor --detach-sign /srv/www/rpm/repodata/repomd.xml

mkdir -p /etc/pacman.d /var/lib/pacman /var/cache/pacman/pkg
# Arch Linux has it, and pacman looks there for the space on the disk.
ln -sf /proc/self/mounts /etc/mtab
printf '%s\n' 'pkgname = made' 'pkgbase = made' 'pkgver = 1.0-1' 'pkgdesc = made' 'arch = any' 'size = 1' > /tmp/made/.PKGINFO
cd /srv/www/arch
tar -C /tmp/made -c --owner=0 --group=0 .PKGINFO usr | gzip > made-1.0-1-any.pkg.tar.gz
gpg --batch --quiet --detach-sign made-1.0-1-any.pkg.tar.gz
python3 /srv/pacman_index.py
gpgconf --kill all
