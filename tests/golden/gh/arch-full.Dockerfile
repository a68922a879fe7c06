FROM <arch>
RUN pacman --sync --refresh --noconfirm --needed git \
 && rm -rf /var/cache/pacman/pkg /var/lib/pacman/sync /var/log/pacman.log
