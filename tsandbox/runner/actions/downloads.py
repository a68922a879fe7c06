"""Files that the host fetched before the run: taken from the inputs by their digest, and checked again."""

import hashlib
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tsandbox.runner.actions.files import unpack
from tsandbox.runner.actions.install import install_binaries
from tsandbox.runner.context import Context, Effect
from tsandbox.runner.failures import StepFailed
from tsandbox.runner.params import Params

_SHA256_LENGTH = 64


def download(context: Context, params: Params) -> Effect:
    target = _fetch(context, params, params.optional("dest") or _file_name(context, params))
    known = "checksum" in params or "checksum_url" in params
    checked = "checksum holds" if known else "the recipe has no checksum for it"
    return Effect(note=f"{target.name}: {target.stat().st_size} bytes, {checked}")


def download_archive(context: Context, params: Params) -> Effect:
    """Download, unpack and install in one step: `download_archive` and `github_archive`."""
    archive = _fetch(context, params, _file_name(context, params))
    unpack(context, params, archive, declared=params.optional("archive_format", "format"))
    archive.unlink()
    return install_binaries(context, params)


def github_file(context: Context, params: Params) -> Effect:
    """A release asset that is the program itself."""
    name = params.optional("binary")
    source = _fetch(context, params, _file_name(context, params))
    if name is None:
        return install_binaries(context, params)
    pairs = {"binaries": [{"src": source.name, "dest": f"bin/{Path(name).name}"}]}
    return install_binaries(context, Params(context.step.action, pairs))


def _file_name(context: Context, params: Params) -> str:
    # The resolved URL tells the real name; an asset_pattern may be a glob.
    address = context.step.url or params.optional("url", "asset_pattern") or ""
    name = unquote(urlsplit(address).path.rpartition("/")[2])
    if not name or name in (".", ".."):
        raise StepFailed("invalid", f"{address!r} names no file; say `dest`", param="url")
    return name


def _fetch(context: Context, params: Params, dest: str) -> Path:
    target = context.path(dest)
    digest = _digest(context, params)
    source = context.places.inputs / "downloads" / digest
    if not source.is_file():
        url = context.step.url or params.optional("url")
        raise StepFailed("missing_download", f"{dest}: not among the inputs", checksum=digest, url=url)
    target.parent.mkdir(parents=True, exist_ok=True)
    _copy_checked(source, target, [("sha256", digest), *_declared(params)])
    return target


def _digest(context: Context, params: Params) -> str:
    declared = [value for algorithm, value in _declared(params) if algorithm == "sha256"]
    for value in (context.step.checksum, *declared):
        digest = (value or "").removeprefix("sha256:").lower()
        if len(digest) == _SHA256_LENGTH and all(char in "0123456789abcdef" for char in digest):
            return digest
    message = f"{context.step.action}: no sha256 in the plan (`tsandbox plan --resolve` fills it in)"
    raise StepFailed("missing_download", message, checksum=None, url=context.step.url)


def _declared(params: Params) -> list[tuple[str, str]]:
    """What the recipe itself says of the file, in its own algorithm."""
    checksum = params.optional("checksum")
    if not checksum:
        return []
    prefix, colon, value = checksum.partition(":")
    algorithm = params.optional("checksum_algo") or (prefix if colon else "sha256")
    return [(algorithm.lower().replace("-", ""), (value if colon else checksum).lower())]


def _copy_checked(source: Path, target: Path, checksums: list[tuple[str, str]]) -> None:
    try:
        hashes = [(hashlib.new(algorithm), expected) for algorithm, expected in checksums]
    except ValueError as error:
        raise StepFailed("invalid", f"{target.name}: {error}", param="checksum_algo") from error
    with source.open("rb") as reader, target.open("wb") as writer:
        while chunk := reader.read(1 << 20):
            writer.write(chunk)
            for each, _ in hashes:
                each.update(chunk)
    for each, expected in hashes:
        if each.hexdigest() != expected:
            target.unlink()
            message = f"{target.name}: {each.name} is {each.hexdigest()}, the plan says {expected}"
            raise StepFailed("checksum", message, expected=expected, found=each.hexdigest(), file=target.name)
