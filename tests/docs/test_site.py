"""The site builds without a warning, and its links and pictures work without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

ROOT = Path(__file__).parents[2]


class Page(HTMLParser):
    """Links and anchors of a page, and the resources that its browser must load."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record links, loaded resources and anchors."""
        named = {name: value or "" for name, value in attrs}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        if tag in ("img", "script") and "src" in named:
            self.loaded.append(named["src"])
        if tag == "link" and named.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(named["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; the tutorial is not run, because it has a test of its own."""
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_nb")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E"]
    done = subprocess.run(
        [*command, "-d", str(out / "trees"), str(ROOT / "docs"), str(out / "html")],
        capture_output=True,
        text=True,
        env=os.environ | {"TARSUS_DOCS_RUN": "0"},
    )
    assert done.returncode == 0, done.stderr
    return out / "html"


@pytest.mark.slow
def test_internal_links_are_valid_and_nothing_is_loaded_externally(site: Path) -> None:
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 60
    wrong = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlparse(link)
            if parts.scheme or parts.netloc:
                wrong += [f"{path.name} loads {link}"] if link in page.loaded else []
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = target in pages or target.is_file()
            known = pages[target].anchors if target in pages else {parts.fragment}
            anchor = not parts.fragment or parts.fragment in known
            if not (there and anchor):
                wrong.append(f"{path.name}: {link}")
    assert not wrong, "\n".join(sorted(set(wrong)))


@pytest.mark.slow
def test_the_reference_contains_every_public_name(site: Path) -> None:
    import tarsus

    anchors, names = Page(site / "api.html").anchors, [n for n in tarsus.__all__ if n[0] != "_"]
    missing = [name for name in names if f"tarsus.{name}" not in anchors]
    assert not missing


@pytest.mark.slow
def test_every_page_is_also_served_as_markdown(site: Path) -> None:
    named = re.findall(r"\]\((\S+)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert len(named) > 40
    assert all((site / name).is_file() for name in named)
