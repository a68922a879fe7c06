FROM <alpine>
RUN apk add --no-cache tmux
