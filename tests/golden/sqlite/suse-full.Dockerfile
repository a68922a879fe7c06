FROM <suse>
RUN zypper --non-interactive install --no-recommends sqlite3 \
 && zypper clean --all \
 && rm -rf /var/cache/zypp /var/log/zypp /var/log/zypper.log
