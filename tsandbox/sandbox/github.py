"""Releases on GitHub: which version is the latest, and which file of a release is the one that is meant."""

import os
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from tsandbox import settings
from tsandbox.errors import DownloadFailed
from tsandbox.printable import one_line
from tsandbox.sandbox import http

_API = "https://api.github.com"


class Asset(Struct, frozen=True, kw_only=True):
    name: str
    browser_download_url: str
    size: int | None = None
    # "sha256:…"; files from before mid-2025 have none.
    digest: str | None = None

    @property
    def sha256(self) -> str | None:
        return self.digest.removeprefix("sha256:") if self.digest and self.digest.startswith("sha256:") else None


class Release(Struct, frozen=True, kw_only=True):
    tag_name: str
    assets: tuple[Asset, ...] = ()


def latest_version(repo: str, tag_prefix: str = "") -> str:
    tag = _ask(f"repos/{_repo(repo)}/releases/latest", Release).tag_name
    return tag.removeprefix(tag_prefix) if tag_prefix else tag.removeprefix("v")


def release(repo: str, version: str, tag_prefix: str = "") -> Release:
    """The release of a version; projects put a `v` before it, or not, or a prefix of their own."""
    tags = dict.fromkeys(
        [f"{tag_prefix}{version}"]
        if tag_prefix
        else [f"v{version}", version, f"{repo.rsplit('/', maxsplit=1)[-1]}-{version}"]
    )
    for tag in tags:
        try:
            return _ask(f"repos/{_repo(repo)}/releases/tags/{quote(tag, safe='')}", Release)
        except _NotThere:
            continue
    raise DownloadFailed(
        f"{one_line(repo)} has no release {one_line(version)} (tags tried: {', '.join(tags)})",
        hint="give the tag's beginning as tag_prefix in [version], or another version",
    )


def asset(found: Release, pattern: str) -> Asset:
    """The file of a release with this name, which may hold * and ?."""
    matching = [each for each in found.assets if each.name == pattern or fnmatchcase(each.name, pattern)]
    if not matching:
        from tsandbox.recipe.near import did_you_mean

        names = [each.name for each in found.assets]
        raise DownloadFailed(
            f"release {one_line(found.tag_name)} has no file {one_line(pattern)}{did_you_mean(pattern, names)}",
            hint="correct asset_pattern, arch_mapping or os_mapping",
            details=[one_line(name) for name in names[:20]],
        )
    # The plain name beats a glob's other matches, and a shorter one beats its signatures and checksums.
    return min(matching, key=lambda each: (each.name != pattern, len(each.name)))


class _NotThere(DownloadFailed):
    pass


def _ask(path: str, kind: type[Release]) -> Release:
    base = settings.option("github_api") or _API
    headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    if token := os.environ.get("GITHUB_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    try:
        answer: Any = http.get_json(f"{base}/{path}", headers)
        return msgspec.convert(answer, kind)
    except http.FetchError as error:
        if error.status == 404:
            raise _NotThere(f"GitHub has no {path}") from None
        hint = (
            "set GITHUB_TOKEN: without one GitHub answers 60 questions an hour"
            if error.status in (403, 429)
            else "is GitHub reachable from here? A plan that was resolved elsewhere (plan --resolve) asks nothing"
        )
        raise DownloadFailed(f"GitHub could not be asked: {error}", hint=hint, temporary=error.temporary) from None
    except msgspec.ValidationError as error:
        raise DownloadFailed(f"GitHub's answer about {path} is not understood: {error}") from None


def _repo(name: str) -> str:
    owner, slash, repo = name.partition("/")
    if not (owner and slash and repo) or "/" in repo:
        raise DownloadFailed(f"{one_line(name)!r} is not a repository: owner/name was expected")
    return f"{quote(owner, safe='')}/{quote(repo, safe='')}"
