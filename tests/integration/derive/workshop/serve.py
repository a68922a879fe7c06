"""Serves the archives over https on this container's own loopback, in the background, once it really answers."""

import http.server
import os
import ssl

server = http.server.ThreadingHTTPServer(("127.0.0.1", 8443), http.server.SimpleHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/srv/certificate.pem", "/srv/key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
# The socket listens already: whoever connects before the child is ready waits for it.
if os.fork() == 0:
    os.setsid()
    os.chdir("/srv/www")
    quiet = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    server.serve_forever()
