FROM <rhel>
RUN dnf --assumeyes --setopt=install_weak_deps=False --setopt=retries=3 install nodejs \
 && dnf clean all \
 && rm -rf /var/cache/dnf /var/cache/libdnf5 /var/log/dnf*
