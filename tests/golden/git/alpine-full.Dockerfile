FROM <alpine>
RUN apk add --no-cache git
