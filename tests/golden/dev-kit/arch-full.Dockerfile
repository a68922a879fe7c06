FROM <arch>
RUN pacman --sync --refresh --noconfirm --needed base-devel ca-certificates curl git jq less \
 && rm -rf /var/cache/pacman/pkg /var/lib/pacman/sync /var/log/pacman.log
COPY ["files/0644/1", "/usr/local/etc/lesskey"]
ENV PAGER=less \
    LESS=-R

# --- files/0644/1
# # Keys for less; see lesskey(1).
# J forw-line-force
# K back-line-force
