"""Who may open a page: browsers that ask for its address, from its own pages, with its token.

Without these checks any web site in the user's browser could watch a page on this machine and press
its buttons: through a WebSocket of its own, or under a name that it points at this machine (DNS
rebinding). The checks stand in front of viser's server, which has none.
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

from tarsus.errors import InvalidValue, MissingPackage, UnmetCondition, quoted

PORT = 8080
TRIES = 20  # ports after the one asked for
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
HOST = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_.-]+))(?::(?P<port>\d{1,5}))?")
DEFAULT_PORTS = {"http": 80, "https": 443}
FRAMES = "frame-ancestors 'self'"  # no other site shows the page inside its own
_patching = Lock()


@dataclass(frozen=True)
class Address:
    """Where a page is served.

    port: the first one to try; 0: any free one
    host: the address of this machine to listen on
    allowed: further names by which browsers reach the page, such as that of a proxy
    """

    port: int = PORT
    host: str = "127.0.0.1"
    allowed: tuple[str, ...] = ()


def free_port(host: str, port: int) -> int:
    """Return the first free port from `port` on; TarsusError if none of `TRIES` is free."""
    if not 0 <= port <= 65535 - TRIES:
        raise InvalidValue(f"port must be from 0 to {65535 - TRIES}, not {port}.", "port")
    family, *_, address = _found(host)[0]
    for number in range(port, port + TRIES) if port else [0]:
        with socket.socket(family) as probe:
            try:
                probe.bind((address[0], number, *address[2:]))
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    raise _no_address(host) from None
                continue
            return int(probe.getsockname()[1])
    raise UnmetCondition(
        f"the ports {port} to {port + TRIES - 1} of {host} are all in use: choose another port.",
        "port",
    )


class Guard:
    """The checks of one page.

    A request must name a host that the page serves. What a page of another site asks for is refused
    by its Origin. A page that can be reached from other machines also wants the token of its URL,
    which a cookie repeats from then on.
    """

    def __init__(self, address: Address) -> None:
        allowed = [_name(name) for name in address.allowed]
        self._host = address.host
        self.everywhere, local = _reach(address.host)
        own = {socket.gethostname().lower(), socket.getfqdn().lower()} if self.everywhere else set()
        self._allowed = frozenset(allowed)
        self._names = LOCAL | own | {address.host.lower()} | self._allowed
        self.token = None if local and not allowed else secrets.token_urlsafe(24)
        digest = hashlib.sha256((self.token or "").encode()).hexdigest()
        self._cookie = f"tarsus-{digest[:12]}"  # cookies of all ports of a host are one set

    def url(self, port: int) -> str:
        """Return the URL to open, with the token if there is one."""
        host = socket.gethostname() if self.everywhere else self._host
        host = "localhost" if host in LOCAL else f"[{host}]" if ":" in host else host
        return f"http://{host}:{port}" + (f"/?token={self.token}" if self.token else "")

    def refusal(self, headers: Any, query: str = "") -> str | None:
        """Why a request with these headers and this query is refused; None if it is not."""
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        host = _parsed(hosts[0]) if len(hosts) == 1 else None
        if host is None or not self._serves(host[0]):
            named = quoted(hosts[0] if hosts else "")
            return f"this page is not served as {named}; `tarsus view --allow-host NAME` allows it."
        if origins and not (len(origins) == 1 and self._own(origins[0], host)):
            return f"pages of {quoted(origins[0])} may not use this page."
        if self.token is not None and not self._knows(headers, query):
            return "open the whole URL that tarsus printed: it ends in a token."
        return None

    def _serves(self, name: str) -> bool:
        return name in self._names or (self.everywhere and _is_address(name))

    def _own(self, origin: str, host: tuple[str, int | None]) -> bool:
        """Whether a page of this origin is a page of this server."""
        scheme, _, rest = origin.lower().partition("://")
        place, default = _parsed(rest), DEFAULT_PORTS.get(scheme)
        if place is None or default is None:
            return False
        same = place[0] == host[0] and (place[1] or default) == (host[1] or default)
        return same or place[0] in self._allowed  # a proxy may have changed the Host

    def _knows(self, headers: Any, query: str) -> bool:
        """Whether a request shows the token, in its URL or in its cookie."""
        pairs = [p.strip().partition("=") for c in headers.get_all("Cookie") for p in c.split(";")]
        given = [value for name, _, value in pairs if name == self._cookie]
        given += [value for name, value in parse_qsl(query) if name == "token"]
        token = (self.token or "").encode()
        return any(hmac.compare_digest(value.encode(), token) for value in given)

    def answered(self, inner: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Return what answers HTTP requests and openings of WebSockets: `inner` after the checks.

        Both take a connection and a request, and return None to open a WebSocket.
        """
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        def answer(connection: Any, request: Any) -> Any:
            query = request.path.partition("?")[2]
            refused = self.refusal(request.headers, query)
            if refused is not None:
                text = f"Refused: {refused}\n".encode()
                kind = {"Content-Type": "text/plain; charset=utf-8"}
                return Response(403, "Forbidden", Headers(kind | _length(text)), text)
            response = inner(connection, request)
            given = parse_qsl(query)
            left = [(name, value) for name, value in given if name != "token"]
            if response is not None and self.token is not None and len(left) < len(given):
                # the token goes into a cookie, out of the address bar and the history
                cookie = f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Lax"
                to = f"./?{urlencode(left)}" if left else "./"
                fresh = {"Location": to, "Set-Cookie": cookie, "Cache-Control": "no-store"}
                return Response(303, "See Other", Headers(fresh | _length(b"")), b"")
            if response is not None:
                response.headers["Content-Security-Policy"] = FRAMES
            return response

        return answer

    def started(self, start: Callable[[], Any]) -> Any:
        """Return the viser server that `start` starts, with the checks in front of it.

        viser has no hook for them, so the function by which it serves is replaced meanwhile.
        TarsusError if this version of viser does not serve by that function.
        """
        from websockets.asyncio import server as library

        # what serves instead
        checked = []

        def serve(*given: Any, process_request: Any, **options: Any) -> Any:
            checked.append(True)
            return usual(*given, process_request=self.answered(process_request), **options)

        # while the server starts
        with _patching:
            usual = library.serve
            library.serve = serve  # type: ignore[assignment,misc]
            try:
                server = start()
            finally:
                library.serve = usual  # type: ignore[misc]
        if not checked:
            server.stop()
            raise MissingPackage(
                "this version of viser cannot protect pages: run pip install viser==1.1.1.", "viser"
            )
        return server


def _length(content: bytes) -> dict[str, str]:
    return {"Content-Length": str(len(content))}


def _parsed(place: str) -> tuple[str, int | None] | None:
    """The lower-case name and the port of a Host header; None if it is malformed."""
    found = HOST.fullmatch(place.lower())
    if found is None:
        return None
    name = found["v6"] or found["name"].rstrip(".")
    return name, int(found["port"]) if found["port"] else None


def _name(given: str) -> str:
    """A host name as browsers send it; TarsusError for anything else."""
    found = _parsed(given)
    if found is None or found[1] is not None or not found[0]:
        raise InvalidValue(
            f"--allow-host must be a host name, such as robot.example.org, not {given!r}.",
            "--allow-host",
        )
    return found[0]


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _reach(host: str) -> tuple[bool, bool]:
    """Whether a host stands for all addresses of this machine, and whether only this machine
    reaches it; TarsusError if it has no address.
    """
    addresses = [ip_address(found[4][0]) for found in _found(host)]
    everywhere = any(address.is_unspecified for address in addresses)
    return everywhere, all(address.is_loopback for address in addresses)


def _found(host: str) -> list[Any]:
    """What `socket.getaddrinfo` knows of a host to listen on; TarsusError if nothing."""
    try:
        if not host:
            raise OSError
        return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise _no_address(host) from None


def _no_address(host: str) -> InvalidValue:
    return InvalidValue(
        f"--host {host!r} is not an address of this machine: give one, or 0.0.0.0 for all.",
        "--host",
    )
