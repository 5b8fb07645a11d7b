"""Access control of a page: its host name, the origin of requests, and an access token.

Without these checks, any web site in the user's browser could watch a page on this machine and
press its buttons, through its own WebSocket or through a host name that it points at this machine
(DNS rebinding). viser's server has no such checks, so these run in front of it.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import re
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tarsus.errors import InvalidValue, MissingPackage, UnmetCondition, quote

PORT = 8080
PORT_TRIES = 20  # ports to try, starting with the requested one
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
HOST = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_.-]+))(?::(?P<port>\d{1,5}))?")
DEFAULT_PORTS = {"http": 80, "https": 443}
FRAME_POLICY = "frame-ancestors 'self'"  # no other site may embed the page
_patching = Lock()


@dataclass(frozen=True)
class Address:
    """Address at which a page is served.

    Attributes
    ----------
    port
        First port to try; 0 takes any free port.
    host
        Address of this machine to listen on.
    allowed
        Extra host names by which browsers reach the page, such as that of a proxy.
    """

    port: int = PORT
    host: str = "127.0.0.1"
    allowed: tuple[str, ...] = ()


def free_port(host: str, port: int) -> int:
    """Find the first free port, starting with `port`.

    Raises
    ------
    InvalidValue
        If the port is out of range, or the host is not an address of this machine.
    UnmetCondition
        If `PORT_TRIES` ports are all in use.
    """
    if not 0 <= port <= 65535 - PORT_TRIES:
        raise InvalidValue(f"port must be from 0 to {65535 - PORT_TRIES}, not {port}.", "port")
    family, *_, address = _addresses(host)[0]
    for number in range(port, port + PORT_TRIES) if port else [0]:
        with socket.socket(family) as probe:
            try:
                probe.bind((address[0], number, *address[2:]))
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    raise _invalid_host(host) from None
                continue
            return int(probe.getsockname()[1])
    raise UnmetCondition(
        f"the ports {port} to {port + PORT_TRIES - 1} of {host} are all in use: choose another"
        " port.",
        "port",
    )


class Guard:
    """Checks for the requests to one page.

    A request must name a host that the page serves. Requests from pages of other sites are rejected
    by their Origin. If other machines can reach the page, a request must also contain the token of
    the page's URL; a cookie then carries it in later requests.
    """

    def __init__(self, address: Address) -> None:
        allowed = [_host_name(name) for name in address.allowed]
        self._host = address.host
        self.everywhere, local = _classify_host(address.host)
        names = {socket.gethostname().lower(), socket.getfqdn().lower()}
        self._allowed = frozenset(allowed)
        self._names = LOCAL | {address.host.lower()} | self._allowed
        self._names |= names if self.everywhere else set()
        self.token = None if local and not allowed else secrets.token_urlsafe(24)
        digest = hashlib.sha256((self.token or "").encode()).hexdigest()
        self._cookie = f"tarsus-{digest[:12]}"  # pages on other ports share this host's cookies

    def url(self, port: int) -> str:
        """Build the URL to open, with the token if there is one."""
        host = socket.gethostname() if self.everywhere else self._host
        host = "localhost" if host in LOCAL else f"[{host}]" if ":" in host else host
        return f"http://{host}:{port}" + (f"/?token={self.token}" if self.token else "")

    def rejection_reason(self, headers: Any, query: str = "") -> str | None:
        """Return the reason to reject a request with these headers and query, or None."""
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        host = _parse_host(hosts[0]) if len(hosts) == 1 else None
        if host is None or not self._is_served_host(host[0]):
            name = quote(hosts[0] if hosts else "")
            return f"this page is not served as {name}; `tarsus view --allow-host NAME` allows it."
        if origins and not (len(origins) == 1 and self._is_own_origin(origins[0], host)):
            return f"pages of {quote(origins[0])} may not use this page."
        if self.token is not None and not self._has_token(headers, query):
            return "open the complete URL that tarsus printed: it ends in a token."
        return None

    def _is_served_host(self, name: str) -> bool:
        return name in self._names or (self.everywhere and _is_address(name))

    def _is_own_origin(self, origin: str, host: tuple[str, int | None]) -> bool:
        """Return whether pages of this origin are pages of this server."""
        scheme, _, rest = origin.lower().partition("://")
        parsed, default = _parse_host(rest), DEFAULT_PORTS.get(scheme)
        if parsed is None or default is None:
            return False
        same = parsed[0] == host[0] and (parsed[1] or default) == (host[1] or default)
        return same or parsed[0] in self._allowed  # a proxy may have changed the Host

    def _has_token(self, headers: Any, query: str) -> bool:
        """Return whether a request contains the token, in its URL or in its cookie."""
        pairs = [p.strip().partition("=") for c in headers.get_all("Cookie") for p in c.split(";")]
        values = [value for name, _, value in pairs if name == self._cookie]
        values += [value for name, value in parse_qsl(query) if name == "token"]
        token = (self.token or "").encode()
        return any(hmac.compare_digest(value.encode(), token) for value in values)

    def protect(self, inner: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Wrap a handler to run the checks before `inner`.

        Both handlers take a connection and a request, and return a response, or None to open a
        WebSocket.
        """
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        def answer(connection: Any, request: Any) -> Any:
            query = request.path.partition("?")[2]
            reason = self.rejection_reason(request.headers, query)
            if reason is not None:
                text = f"Access denied: {reason}\n".encode()
                kind = {"Content-Type": "text/plain; charset=utf-8"}
                return Response(403, "Forbidden", Headers(kind | _length(text)), text)
            response = inner(connection, request)
            pairs = parse_qsl(query)
            rest = [(name, value) for name, value in pairs if name != "token"]
            if response is not None and self.token is not None and len(rest) < len(pairs):
                # move the token from the address bar and the history into a cookie
                cookie = f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Lax"
                target = f"./?{urlencode(rest)}" if rest else "./"
                headers = {"Location": target, "Set-Cookie": cookie, "Cache-Control": "no-store"}
                return Response(303, "See Other", Headers(headers | _length(b"")), b"")
            if response is not None:
                response.headers["Content-Security-Policy"] = FRAME_POLICY
            return response

        return answer

    def start(self, start_server: Callable[[], Any]) -> Any:
        """Start a viser server with the checks in front of it, and return it.

        viser has no hook for the checks, so the function that it serves with is replaced while the
        server starts.

        Raises
        ------
        MissingPackage
            If this version of viser does not call that function.
        """
        from websockets.asyncio import server as library

        calls = []

        def serve(*args: Any, process_request: Any, **options: Any) -> Any:
            calls.append(True)
            return original(*args, process_request=self.protect(process_request), **options)

        with _patching:
            original = library.serve
            library.serve = serve  # type: ignore[assignment,misc]
            try:
                server = start_server()
            finally:
                library.serve = original  # type: ignore[misc]
        if not calls:
            server.stop()
            raise MissingPackage(
                "this version of viser cannot protect pages: run pip install viser==1.1.1.", "viser"
            )
        return server


def _length(content: bytes) -> dict[str, str]:
    return {"Content-Length": str(len(content))}


def _parse_host(text: str) -> tuple[str, int | None] | None:
    """Parse a Host header to lower-case name and port; None if it is malformed."""
    match = HOST.fullmatch(text.lower())
    if match is None:
        return None
    name = match["v6"] or match["name"].rstrip(".")
    return name, int(match["port"]) if match["port"] else None


def _host_name(text: str) -> str:
    """Convert a host name to the form that browsers send; raise InvalidValue if impossible."""
    parsed = _parse_host(text)
    if parsed is None or parsed[1] is not None or not parsed[0]:
        raise InvalidValue(
            f"--allow-host must be a host name, such as robot.example.org, not {text!r}.",
            "--allow-host",
        )
    return parsed[0]


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _classify_host(host: str) -> tuple[bool, bool]:
    """Return whether a host means all addresses of this machine, and whether it is local only."""
    addresses = [ip_address(info[4][0]) for info in _addresses(host)]
    everywhere = any(address.is_unspecified for address in addresses)
    return everywhere, all(address.is_loopback for address in addresses)


def _addresses(host: str) -> list[Any]:
    """Call `socket.getaddrinfo` for a host to listen on."""
    try:
        if not host:
            raise OSError
        return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise _invalid_host(host) from None


def _invalid_host(host: str) -> InvalidValue:
    return InvalidValue(
        f"--host {host!r} is not an address of this machine: give one, or 0.0.0.0 for all.",
        "--host",
    )
