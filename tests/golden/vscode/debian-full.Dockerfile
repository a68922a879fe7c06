FROM <builder>
COPY ["repositories/", "/etc/apt/sources.list.d/"]
# apt checks the sha256 of a key while it fetches it, and trusts the key for its own repository alone. A key that is not
# ASCII-armoured must not be called .asc, or apt does not read it.
RUN mkdir -p /etc/apt/keyrings && cd /etc/apt/keyrings \
 && /usr/lib/apt/apt-helper -o Acquire::Retries=3 download-file \
      https://packages.microsoft.com/keys/microsoft.asc tsandbox-1.asc SHA256:2fa9c05d591a1582a9aba276272478c262e95ad00acf60eaee1644d93941e3c6 \
 && for key in tsandbox-*.asc; do \
      grep -q "BEGIN PGP PUBLIC KEY" "$key" || { \
        mv "$key" "${key%.asc}.gpg" \
     && sed -i "s/$key/${key%.asc}.gpg/" "/etc/apt/sources.list.d/${key%.asc}.sources"; \
      } || exit 1; \
    done
RUN apt-get -o Acquire::Retries=3 update \
 && DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install --yes --no-install-recommends -- code \
 && rm -rf /var/lib/apt/lists/*

# --- repositories/tsandbox-1.sources
# Types: deb
# URIs: https://packages.microsoft.com/repos/code
# Suites: stable
# Components: main
# Signed-By: /etc/apt/keyrings/tsandbox-1.asc
