FROM <suse>
RUN zypper --non-interactive install --no-recommends less \
 && zypper clean --all \
 && rm -rf /var/cache/zypp /var/log/zypp /var/log/zypper.log
COPY ["files/0644/1", "/usr/local/etc/lesskey"]
ENV PAGER=less \
    LESS=-R

# --- files/0644/1
# # Keys for less; see lesskey(1).
# J forw-line-force
# K back-line-force
