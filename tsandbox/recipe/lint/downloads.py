"""Rules about what is fetched."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tsandbox.recipe.actions import Carried, Repository
from tsandbox.recipe.decode import Path
from tsandbox.recipe.lint.parts import parts
from tsandbox.recipe.lint.rule import Found, Rule, Subject

_FETCHING = frozenset(["download", "download_archive", "download_file", "app_bundle"])
_CHECKSUMS = ("checksum", "checksum_url", "checksums", "signature_url")
_MOVING = re.compile(r"(?:^|[/_-])(?:latest|master|main|head|nightly|current)(?=$|[/._-])", re.IGNORECASE)


def _fetched(subject: Subject) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Every table that names something to fetch."""
    for i, step in enumerate(subject.recipe.steps):
        if isinstance(step.does, Carried):
            yield ("steps", i), step.params
    for name in ("resources", "patches"):
        for i, table in enumerate(getattr(subject.recipe, name)):
            yield (name, i), table


def _plain_http(subject: Subject) -> Iterator[Found]:
    if subject.recipe.version.url.startswith("http://"):
        yield Found(("version", "url"), "is asked over http: use https")
    for path, table in _fetched(subject):
        for key, value in table.items():
            for n, text in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(text, str) and text.startswith("http://"):
                    where: Path = (*path, key, n) if isinstance(value, list) else (*path, key)
                    yield Found(where, "is fetched over http: use https")


def _unpinned(subject: Subject) -> Iterator[Found]:
    for i, step in enumerate(subject.recipe.steps):
        if isinstance(step.does, Carried) and step.action in _FETCHING:
            yield from _unpinned_download(("steps", i), step.params)
    for name in ("resources", "patches"):
        for i, table in enumerate(getattr(subject.recipe, name)):
            if "url" in table:
                yield from _unpinned_download((name, i), table)


def _unpinned_download(path: Path, table: Mapping[str, Any]) -> Iterator[Found]:
    url = table.get("url")
    if isinstance(url, str) and _MOVING.search(url) and "{version}" not in url:
        yield Found((*path, "url"), "names whatever is newest: give the address of one version")
    elif not any(table.get(key) for key in _CHECKSUMS):
        yield Found((*path, "url"), "has no checksum: what is fetched tomorrow may be another file")


def _placeholder_checksum(subject: Subject) -> Iterator[Found]:
    for path, table in _fetched(subject):
        if _is_placeholder(table.get("checksum")):
            yield Found((*path, "checksum"), "is a placeholder: no file has this checksum")
    for i, step in enumerate(subject.recipe.steps):
        for path, action in parts(step):
            if isinstance(action, Repository) and _is_placeholder(action.key_sha256):
                yield Found(("steps", i, *path, "key_sha256"), "is a placeholder: no key has this sha256")


def _is_placeholder(checksum: object) -> bool:
    """One digit over and over, or a short run of digits repeated."""
    if not isinstance(checksum, str):
        return False
    digits = checksum.removeprefix("sha256:")
    return len(digits) >= 32 and any(digits == digits[:n] * (len(digits) // n) for n in (1, 2, 4, 8, 16))


RULES = (
    Rule(
        id="TS007",
        title="An address without https",
        why="Whoever sits between can read and change what is fetched. A checksum notices the change, and people still "
        "learn what you install.",
        bad='[[steps]]\naction = "download_file"\nurl = "http://example.com/tool-1.0.tar.gz"\n'
        'checksum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"\n',
        good='[[steps]]\naction = "download_file"\nurl = "https://example.com/tool-1.0.tar.gz"\n'
        'checksum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"\n',
        check=_plain_http,
    ),
    Rule(
        id="TS008",
        title="A download that is not pinned",
        why="Without a checksum nobody notices when the file behind an address changes, by accident or on purpose. An "
        "address that says `latest` or `main` changes by design.",
        bad='[[steps]]\naction = "download_file"\nurl = "https://example.com/tool/latest/tool.tar.gz"\n',
        good='[[steps]]\naction = "download_file"\nurl = "https://example.com/tool/1.0/tool.tar.gz"\n'
        'checksum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"\n',
        check=_unpinned,
    ),
    Rule(
        id="TS017",
        title="A checksum that is a placeholder",
        why="The value has the right shape and belongs to no file, so every build refuses what it fetches.",
        bad='[[steps]]\naction = "download_file"\nurl = "https://example.com/tool-1.0.tar.gz"\n'
        'checksum = "0000000000000000000000000000000000000000000000000000000000000000"\n',
        good='[[steps]]\naction = "download_file"\nurl = "https://example.com/tool-1.0.tar.gz"\n'
        'checksum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"\n',
        check=_placeholder_checksum,
    ),
)
