FROM <alpine>
RUN apk add --no-cache py3-pip python3
