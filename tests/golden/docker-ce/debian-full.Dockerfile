FROM <builder>
COPY ["repositories/", "/etc/apt/sources.list.d/"]
# apt checks the sha256 of a key while it fetches it, and trusts the key for its own repository alone. A key that is not
# ASCII-armoured must not be called .asc, or apt does not read it.
RUN mkdir -p /etc/apt/keyrings && cd /etc/apt/keyrings \
 && /usr/lib/apt/apt-helper -o Acquire::Retries=3 download-file \
      https://download.docker.com/linux/debian/gpg tsandbox-1.asc SHA256:1500c1f56fa9e26b9b8f42452a553675796ade0807cdce11975eb98170b3a570 \
 && for key in tsandbox-*.asc; do \
      grep -q "BEGIN PGP PUBLIC KEY" "$key" || { \
        mv "$key" "${key%.asc}.gpg" \
     && sed -i "s/$key/${key%.asc}.gpg/" "/etc/apt/sources.list.d/${key%.asc}.sources"; \
      } || exit 1; \
    done
RUN apt-get -o Acquire::Retries=3 update \
 && DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install --yes --no-install-recommends -- containerd.io docker-ce docker-ce-cli \
 && rm -rf /var/lib/apt/lists/*
RUN for group in docker; do \
      cut -d: -f1 /etc/group | grep -qxF -- "$group" || \
      echo "$group:x:$(awk -F: '$3 >= 900 && $3 < 999 && $3 >= id { id = $3 + 1 } END { print id ? id : 900 }' /etc/group):" \
        >> /etc/group || exit 1; \
    done

# --- repositories/tsandbox-1.sources
# Types: deb
# URIs: https://download.docker.com/linux/debian
# Suites: bookworm
# Components: stable
# Signed-By: /etc/apt/keyrings/tsandbox-1.asc
