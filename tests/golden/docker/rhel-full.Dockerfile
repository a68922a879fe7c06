FROM <rhel>
RUN dnf --assumeyes --setopt=install_weak_deps=False --setopt=retries=3 install moby-engine \
 && dnf clean all \
 && rm -rf /var/cache/dnf /var/cache/libdnf5 /var/log/dnf*
RUN for group in docker; do \
      cut -d: -f1 /etc/group | grep -qxF -- "$group" || \
      echo "$group:x:$(awk -F: '$3 >= 900 && $3 < 999 && $3 >= id { id = $3 + 1 } END { print id ? id : 900 }' /etc/group):" \
        >> /etc/group || exit 1; \
    done
