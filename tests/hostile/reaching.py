"""Reaches for the network with raw bytes. Runs inside the sandbox alone."""

import base64
import socket
import time
from urllib.error import HTTPError
from urllib.request import urlopen

PROXY = ("127.0.0.1", 3128)
SECONDS = 10


def say(text: str, then: str = "", half: bool = False) -> dict:
    """Send text to the proxy, and more once it has answered; return what came back."""
    with socket.create_connection(PROXY, SECONDS) as client:
        client.settimeout(SECONDS)
        client.sendall(base64.b64decode(text))
        if half:
            client.shutdown(socket.SHUT_WR)
        answer = _received(client, once=bool(then))
        if then:
            try:
                client.sendall(base64.b64decode(then))
                answer += _received(client)
            except OSError:
                pass
    return {"answer": answer.decode("latin-1")}


def _received(client, once=False):
    answer = b""
    try:
        while chunk := client.recv(65536):
            answer += chunk
            if once:
                break
    except OSError:
        pass
    return answer


def dial(host: str, port: int, datagram: bool = False) -> dict:
    """Connect past the proxy."""
    kind = socket.SOCK_DGRAM if datagram else socket.SOCK_STREAM
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, kind) as client:
        client.settimeout(1)
        client.connect((host, port))
        client.send(b"GET / HTTP/1.0\r\n\r\n")
        return {"answer": client.recv(100).decode("latin-1")}


def fetch(url: str) -> dict:
    """Fetch an address, following where it leads."""
    try:
        with urlopen(url, timeout=SECONDS) as answer:
            return {"answer": answer.read(1000).decode("latin-1")}
    except HTTPError as error:
        return {"answer": f"{error.code}"}


def hold_connections(count: int, text: str, seconds: float) -> dict:
    """Open connections to the proxy, say the same on each, and keep them open."""
    kept, answers = [], []
    for _ in range(count):
        client = socket.create_connection(PROXY, SECONDS)
        client.sendall(base64.b64decode(text))
        kept.append(client)
    until = time.monotonic() + seconds
    for client in kept:
        client.settimeout(max(0.01, until - time.monotonic()))
        try:
            answers.append(client.recv(50).decode("latin-1").partition("\r\n")[0])
        except OSError:
            answers.append("")
    return {"answers": answers}


def upload(text: str, megabytes: int) -> dict:
    """Send a great deal through the proxy."""
    sent = 0
    with socket.create_connection(PROXY, SECONDS) as client:
        client.settimeout(SECONDS)
        client.sendall(base64.b64decode(text))
        try:
            for _ in range(megabytes):
                client.sendall(bytes(1 << 20))
                sent += 1
        except OSError:
            pass
    return {"sent": sent}
