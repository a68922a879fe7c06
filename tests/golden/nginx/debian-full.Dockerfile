FROM <builder>
RUN apt-get -o Acquire::Retries=3 update \
 && DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install --yes --no-install-recommends -- nginx \
 && rm -rf /var/lib/apt/lists/*
COPY ["files/0644/1", "/etc/nginx/conf.d/server-tokens.conf"]

# --- files/0644/1
# server_tokens off;
