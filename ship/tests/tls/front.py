"""A port with TLS in front of a server without TLS. Prints its port.

Usage: front.py CERTIFICATE KEY PORT, with the port of the server at 127.0.0.1.
"""

import socket
import ssl
import sys
import threading


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def forward(client):
    try:
        client = context.wrap_socket(client, server_side=True)
        with client, socket.create_connection(("127.0.0.1", int(sys.argv[3]))) as server:
            threading.Thread(target=copy, args=(client, server), daemon=True).start()
            while data := server.recv(65536):
                client.sendall(data)
    except OSError:
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=forward, args=(listener.accept()[0],), daemon=True).start()
