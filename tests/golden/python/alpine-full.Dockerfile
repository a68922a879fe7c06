FROM <alpine>
RUN apk add --no-cache python3
