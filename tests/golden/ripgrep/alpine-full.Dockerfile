FROM <alpine>
# apk finds a key by its file name, which the repository's signature names.
RUN cd /etc/apk/keys \
 && wget -q -O alpine-devel@lists.alpinelinux.org-6165ee59.rsa.pub https://alpinelinux.org/keys/alpine-devel@lists.alpinelinux.org-6165ee59.rsa.pub \
 && echo 207e4696d3c05f7cb05966aee557307151f1f00217af4143c1bcaf33b8df733f"  "alpine-devel@lists.alpinelinux.org-6165ee59.rsa.pub | sha256sum -c \
 && printf '%s\n' https://dl-cdn.alpinelinux.org/alpine/v3.20/community >> /etc/apk/repositories
RUN apk add --no-cache ripgrep
