FROM <runtime> AS runtime
# Packages are installed in a complete Debian, so that their install scripts run as they expect to.
FROM <builder> AS builder
COPY ["closure/", "/tsandbox/"]
COPY --from=runtime ["/var/lib/dpkg/status", "/usr/share/tsandbox/files.tsv", "/etc/passwd", "/etc/group", "/tsandbox/"]
RUN apt-get -o Acquire::Retries=3 update \
 && DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install --yes --no-install-recommends -- git \
 && sh /tsandbox/closure.sh /rootfs git \
 && rm -rf /var/lib/apt/lists/*
# The image holds the base, what was declared with its dependencies, and nothing else.
FROM runtime
COPY --from=builder ["/rootfs/", "/"]
