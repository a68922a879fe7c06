FROM <suse>
COPY ["repositories/", "/etc/zypp/repos.d/"]
# A key is fetched over https and trusted only with the sha256 that the recipe gives.
RUN mkdir -p /etc/pki/rpm-gpg && cd /etc/pki/rpm-gpg \
 && curl --fail --silent --show-error --location --retry 3 --proto =https \
      --output tsandbox-1.key https://packages.microsoft.com/keys/microsoft.asc \
 && echo 2fa9c05d591a1582a9aba276272478c262e95ad00acf60eaee1644d93941e3c6"  "tsandbox-1.key | sha256sum --check --strict \
 && rpm --import tsandbox-*.key
RUN zypper --non-interactive install --no-recommends code \
 && zypper clean --all \
 && rm -rf /var/cache/zypp /var/log/zypp /var/log/zypper.log

# --- repositories/tsandbox-1.repo
# [tsandbox-1]
# name=vscode
# baseurl=https://packages.microsoft.com/yumrepos/vscode
# enabled=1
# gpgcheck=1
# gpgkey=file:///etc/pki/rpm-gpg/tsandbox-1.key
