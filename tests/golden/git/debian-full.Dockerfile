FROM <builder>
RUN apt-get -o Acquire::Retries=3 update \
 && DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install --yes --no-install-recommends -- git \
 && rm -rf /var/lib/apt/lists/*
