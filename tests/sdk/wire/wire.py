"""Signed requests without an SDK: everything on the wire is in the test's hands."""
import base64
import hashlib
import hmac
import http.client
import json
import os
import socket
import ssl
import urllib.parse
import uuid
from email.utils import formatdate

ENDPOINT = urllib.parse.urlsplit(os.environ.get("ORRERY_ENDPOINT", "http://127.0.0.1:8081"))
KEY = os.environ.get(
    "ORRERY_KEY", "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
)
TIMEOUT = 20


def context():
    return ssl.create_default_context(cafile=os.environ.get("ORRERY_CA"))


def connection():
    if ENDPOINT.scheme == "https":
        return http.client.HTTPSConnection(ENDPOINT.hostname, ENDPOINT.port, timeout=TIMEOUT, context=context())
    return http.client.HTTPConnection(ENDPOINT.hostname, ENDPOINT.port, timeout=TIMEOUT)


def raw_socket():
    plain = socket.create_connection((ENDPOINT.hostname, ENDPOINT.port), timeout=TIMEOUT)
    if ENDPOINT.scheme == "https":
        return context().wrap_socket(plain, server_hostname=ENDPOINT.hostname)
    return plain


def signature(verb, resource_type, link, x_date, date="", key=KEY):
    text = f"{verb.lower()}\n{resource_type.lower()}\n{link}\n{x_date.lower()}\n{date.lower()}\n"
    return base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()


def token(verb, resource_type, link, x_date, date="", key=KEY):
    return urllib.parse.quote(f"type=master&ver=1.0&sig={signature(verb, resource_type, link, x_date, date, key)}", safe="")


def resource_of(path):
    """(type, link) that a name-based request signs."""
    parts = [urllib.parse.unquote(p) for p in path.split("?")[0].split("/") if p]
    if len(parts) % 2:
        return parts[-1], "/".join(parts[:-1])
    return (parts[-2], "/".join(parts)) if parts else ("", "")


def now(offset=0):
    import time

    return formatdate(time.time() + offset, usegmt=True)


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = {k.lower(): v for k, v in response.getheaders()}
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def sub(self):
        return int(self.headers.get("x-ms-substatus", 0))

    def __repr__(self):
        return f"{self.status}/{self.sub} {self.body[:600]!r} {self.headers}"


def send(method, path, body=None, headers=None, *, sign=True, resource=None, date=None, key=KEY, version="2020-07-15"):
    """One request on a connection of its own. `headers` win over what is filled in; None removes a header."""
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    date = date or now()
    filled = {"x-ms-date": date, "x-ms-version": version, "accept": "application/json"}
    if sign:
        resource_type, link = resource or resource_of(path)
        filled["authorization"] = token(method, resource_type, link, date, key=key)
    if body is not None:
        filled["content-type"] = "application/json"
    for name, value in (headers or {}).items():
        if value is None:
            filled.pop(name.lower(), None)
        else:
            filled[name.lower()] = value
    c = connection()
    try:
        c.putrequest(method, path, skip_accept_encoding=True, skip_host="host" in filled)
        for name, value in filled.items():
            c.putheader(name, value)
        if body is not None or method in ("POST", "PUT", "PATCH"):
            c.putheader("content-length", str(len(body or b"")))
        c.endheaders(body)
        response = c.getresponse()
        return Answer(response, response.read())
    finally:
        c.close()


def pk(*values):
    return {"x-ms-documentdb-partitionkey": json.dumps(list(values))}


def exchange(data, limit=65536):
    """Sends raw bytes, returns what comes back until the server closes or goes quiet."""
    s = raw_socket()
    s.settimeout(5)
    try:
        s.sendall(data)
        out = b""
        while len(out) < limit:
            try:
                piece = s.recv(65536)
            except (socket.timeout, ConnectionResetError, ssl.SSLError):
                break
            if not piece:
                break
            out += piece
            if b"\r\n\r\n" in out and complete(out):
                break
        return out
    except (BrokenPipeError, ConnectionResetError):
        return b""
    finally:
        s.close()


def complete(data):
    head, _, rest = data.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return len(rest) >= int(line.split(b":")[1])
    return False


def unique(prefix="wire"):
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def rid_bytes(rid):
    return base64.b64decode(rid.replace("-", "/"), validate=True)
