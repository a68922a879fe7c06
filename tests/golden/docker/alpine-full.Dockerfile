FROM <alpine>
RUN apk add --no-cache docker
RUN for group in docker; do \
      cut -d: -f1 /etc/group | grep -qxF -- "$group" || \
      echo "$group:x:$(awk -F: '$3 >= 900 && $3 < 999 && $3 >= id { id = $3 + 1 } END { print id ? id : 900 }' /etc/group):" \
        >> /etc/group || exit 1; \
    done
