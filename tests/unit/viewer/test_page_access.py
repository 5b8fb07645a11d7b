"""Access to pages: real requests to the real server, with valid and invalid Host, Origin and
token.
"""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pytest
from helpers.refused import refused
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tarsus.cli import main
from tarsus.errors import InvalidValue
from tarsus.viewer.access import Address, Guard
from tarsus.viewer.page import Page, import_viser

Headers = Sequence[tuple[str, str]]
EVIL = "http://evil.example"


@contextmanager
def served(address: Address) -> Iterator[Page]:
    page = Page("test", address)
    try:
        yield page
    finally:
        page.stop()


@pytest.fixture(scope="module")
def local() -> Iterator[Page]:
    with served(Address(0)) as page:
        yield page


@pytest.fixture(scope="module")
def shared() -> Iterator[Page]:
    """Reached from other machines, and through a proxy."""
    with served(Address(0, "0.0.0.0", ("Robot.example.org",))) as page:
        yield page


def port_of(page: Page) -> int:
    return int(urlsplit(page.url).port or 0)


def fetched(page: Page, path: str, headers: Headers) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port_of(page), timeout=20)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in headers:
        connection.putheader(name, value.replace("PORT", str(port_of(page))))
    connection.endheaders()
    return connection.getresponse()


def opened(page: Page, host: str, headers: Headers = (), path: str = "/") -> int:
    """The status of a WebSocket's opening: 101, or that of a refusal."""
    place = host.replace("PORT", str(port_of(page)))
    given = [(name, value.replace("PORT", str(port_of(page)))) for name, value in headers]
    try:
        with connect(
            f"ws://{place}{path}",
            sock=socket.create_connection(("127.0.0.1", port_of(page))),
            additional_headers=given,
            subprotocols=[Subprotocol(f"viser-v{import_viser().__version__}")],
            compression=None,
        ) as opened_socket:
            opened_socket.recv(timeout=20)  # the scene comes
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


OWN = ["localhost:PORT", "127.0.0.1:PORT", "[::1]:PORT", "LOCALHOST.:PORT"]
FOREIGN = [
    "evil.example:PORT",
    "evil.example",
    "localhost.evil.example:PORT",
    "10.0.0.7:PORT",
    "a b",
]


@pytest.mark.parametrize("host", [*OWN, "localhost:9999"])  # the last by `ssh -L 9999:...`
def test_local_names_are_served(local: Page, host: str) -> None:
    page = fetched(local, "/", [("Host", host)])
    assert page.status == 200 and b"<html" in page.read()
    assert "frame-ancestors" in page.headers["Content-Security-Policy"]
    assert opened(local, host) == 101
    assert opened(local, host, [("Origin", f"http://{host}")]) == 101


@pytest.mark.parametrize("host", FOREIGN)
def test_foreign_names_are_refused(local: Page, host: str) -> None:
    """So does a browser ask whose user visits a site that points its own name at this machine."""
    assert fetched(local, "/", [("Host", host)]).status == 403
    if " " not in host:
        assert opened(local, host, [("Origin", f"http://{host}")]) == 403


def test_there_is_exactly_one_host(local: Page) -> None:
    assert fetched(local, "/", []).status == 403
    assert fetched(local, "/", [("Host", "localhost:PORT"), ("Host", "evil.example")]).status == 403


@pytest.mark.parametrize(
    "origin",
    [
        *(EVIL, f"{EVIL}:PORT", "null", "http://localhost:1", "http://localhost", "localhost:PORT"),
        *("https://localhost", "file://", "http://localhost:PORT.evil.example"),
        "http://127.0.0.1:PORT",  # another name than the one asked for
    ],
)
def test_pages_of_other_sites_are_refused(local: Page, origin: str) -> None:
    assert opened(local, "localhost:PORT", [("Origin", origin)]) == 403
    own = ("Host", "localhost:PORT")
    assert fetched(local, "/", [own, ("Origin", origin)]).status == 403
    twice = [("Origin", "http://localhost:PORT"), ("Origin", origin)]
    assert opened(local, "localhost:PORT", twice) == 403


def test_remote_access_needs_the_token(shared: Page) -> None:
    (token,) = parse_qs(urlsplit(shared.url).query)["token"]
    assert len(token) >= 32
    here = ("Host", "10.0.0.7:PORT")
    for path in ("/", f"/?token={token[:-1]}", "/?token=", "/assets/x.js"):
        assert fetched(shared, path, [here]).status == 403
    assert opened(shared, "10.0.0.7:PORT") == 403
    # the URL gives a cookie, which opens pages and WebSockets
    first = fetched(shared, f"/?token={token}&initialDistanceScale=2", [here])
    assert first.status == 303 and first.headers["Location"] == "./?initialDistanceScale=2"
    cookie, *rules = first.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Lax"} <= set(rules)
    known = ("Cookie", f"other=1; {cookie}")
    assert fetched(shared, "/", [here, known]).status == 200
    assert opened(shared, "10.0.0.7:PORT", [known]) == 101
    assert opened(shared, "10.0.0.7:PORT", path=f"/?token={token}") == 101
    # which opens nothing for others
    assert opened(shared, "10.0.0.7:PORT", [known, ("Origin", EVIL)]) == 403
    assert opened(shared, "evil.example", [known]) == 403


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("robot.example.org", "https://robot.example.org", 101),
        ("localhost:PORT", "https://robot.example.org", 101),  # the proxy changed the host
        ("robot.example.org", EVIL, 403),
        ("other.example.org", "https://other.example.org", 403),
    ],
)
def test_a_proxy_is_allowed_by_name(shared: Page, host: str, origin: str, status: int) -> None:
    (token,) = parse_qs(urlsplit(shared.url).query)["token"]
    assert opened(shared, host, [("Origin", origin)], f"/?token={token}") == status


def test_two_pages_have_two_tokens() -> None:
    everywhere = Address(0, "0.0.0.0")
    one, other = Guard(everywhere), Guard(everywhere)
    assert one.token != other.token and Guard(Address()).token is None
    assert Guard(Address(0, allowed=("robot",))).token is not None
    assert Guard(Address(0, "::1")).url(80) == "http://localhost:80"


@pytest.mark.parametrize("name", ["http://robot", "robot:80", "robot/", "", "a b", "*"])
def test_only_names_are_allowed(name: str) -> None:
    with refused(InvalidValue, "--allow-host"):
        Guard(Address(0, allowed=(name,)))


@pytest.mark.parametrize("host", ["", "no such host", "203.0.113.1"])
def test_a_page_is_served_on_addresses_of_this_machine(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", "mini_cheetah", "--host", host]) == 2
    error = capsys.readouterr().err
    assert "--host" in error and error.count("\n") == 1
