FROM <arch>
RUN pacman --sync --refresh --noconfirm --needed jq \
 && rm -rf /var/cache/pacman/pkg /var/lib/pacman/sync /var/log/pacman.log
