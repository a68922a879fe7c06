FROM <builder>
RUN apt-get -o Acquire::Retries=3 update \
 && DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install --yes --no-install-recommends -- less \
 && rm -rf /var/lib/apt/lists/*
COPY ["files/0644/1", "/usr/local/etc/lesskey"]
ENV PAGER=less \
    LESS=-R

# --- files/0644/1
# # Keys for less; see lesskey(1).
# J forw-line-force
# K back-line-force
