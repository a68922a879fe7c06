FROM <rhel>
COPY ["repositories/", "/etc/yum.repos.d/"]
# A key is fetched over https and trusted only with the sha256 that the recipe gives.
RUN mkdir -p /etc/pki/rpm-gpg && cd /etc/pki/rpm-gpg \
 && curl --fail --silent --show-error --location --retry 3 --proto =https \
      --output tsandbox-1.key https://download.docker.com/linux/fedora/gpg \
 && echo e6c650e0700b1bf4868b693b30761b926844befc8a0acb7ac0dd9b1faf1b7423"  "tsandbox-1.key | sha256sum --check --strict \
 && rpm --import tsandbox-*.key
RUN dnf --assumeyes --setopt=install_weak_deps=False --setopt=retries=3 install containerd.io docker-ce docker-ce-cli \
 && dnf clean all \
 && rm -rf /var/cache/dnf /var/cache/libdnf5 /var/log/dnf*
RUN for group in docker; do \
      cut -d: -f1 /etc/group | grep -qxF -- "$group" || \
      echo "$group:x:$(awk -F: '$3 >= 900 && $3 < 999 && $3 >= id { id = $3 + 1 } END { print id ? id : 900 }' /etc/group):" \
        >> /etc/group || exit 1; \
    done

# --- repositories/tsandbox-1.repo
# [tsandbox-1]
# name=docker-ce-stable
# baseurl=https://download.docker.com/linux/fedora/$releasever/$basearch/stable
# enabled=1
# gpgcheck=1
# gpgkey=file:///etc/pki/rpm-gpg/tsandbox-1.key
