FROM <suse>
RUN zypper --non-interactive install --no-recommends nginx \
 && zypper clean --all \
 && rm -rf /var/cache/zypp /var/log/zypp /var/log/zypper.log
