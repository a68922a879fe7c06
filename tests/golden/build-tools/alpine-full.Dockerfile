FROM <alpine>
RUN apk add --no-cache build-base pkgconf
