FROM <alpine>
RUN apk add --no-cache less
COPY ["files/0644/1", "/usr/local/etc/lesskey"]
ENV PAGER=less \
    LESS=-R

# --- files/0644/1
# # Keys for less; see lesskey(1).
# J forw-line-force
# K back-line-force
