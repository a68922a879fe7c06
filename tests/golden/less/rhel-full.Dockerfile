FROM <rhel>
RUN dnf --assumeyes --setopt=install_weak_deps=False --setopt=retries=3 install less \
 && dnf clean all \
 && rm -rf /var/cache/dnf /var/cache/libdnf5 /var/log/dnf*
COPY ["files/0644/1", "/usr/local/etc/lesskey"]
ENV PAGER=less \
    LESS=-R

# --- files/0644/1
# # Keys for less; see lesskey(1).
# J forw-line-force
# K back-line-force
