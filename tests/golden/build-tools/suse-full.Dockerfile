FROM <suse>
RUN zypper --non-interactive install --no-recommends gcc gcc-c++ make pkg-config \
 && zypper clean --all \
 && rm -rf /var/cache/zypp /var/log/zypp /var/log/zypper.log
