FROM <suse>
RUN zypper --non-interactive install --no-recommends docker \
 && zypper clean --all \
 && rm -rf /var/cache/zypp /var/log/zypp /var/log/zypper.log
RUN for group in docker; do \
      cut -d: -f1 /etc/group | grep -qxF -- "$group" || \
      echo "$group:x:$(awk -F: '$3 >= 900 && $3 < 999 && $3 >= id { id = $3 + 1 } END { print id ? id : 900 }' /etc/group):" \
        >> /etc/group || exit 1; \
    done
