"""Images as files: exported with their checksums, and imported only when every byte is the one that was exported."""

import hashlib
import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from tsandbox import __version__
from tsandbox.build.cache import Entry
from tsandbox.build.image import KEY, PREIMAGE, TOOL
from tsandbox.build.made import note_made
from tsandbox.build.oci import Described, described
from tsandbox.build.platform import refuse_foreign
from tsandbox.build.progress import Watch, tell
from tsandbox.build.used import note_use
from tsandbox.build.workplace import workplace
from tsandbox.derive.key import tag_of
from tsandbox.engine.protocol import Engine
from tsandbox.errors import InvalidInput, UsageError

SUMS = "SHA256SUMS"
MANIFEST = "manifest.json"
_SUM_LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9][A-Za-z0-9._+-]*)")


class Exported(Struct, frozen=True, kw_only=True):
    """One image in a directory of exports."""

    file: str
    sha256: str
    size: int
    key: str
    image: str
    tool: str
    platform: str


class Manifest(Struct, frozen=True, kw_only=True):
    schema: int = 1
    made_by: str = ""
    images: tuple[Exported, ...] = ()


class Imported(Struct, frozen=True, kw_only=True):
    image: str
    key: str
    tool: str
    file: str


def file_name(entry: Entry) -> str:
    return f"{entry.tool}-{entry.key.removeprefix('sha256:')}-{entry.platform.replace('/', '-')}.oci.tar"


def export(engine: Engine, chosen: Iterable[Entry], directory: Path, watch: Watch | None = None) -> list[Exported]:
    """Add images to a directory; what it already holds stays in its list."""
    directory.mkdir(parents=True, exist_ok=True)
    before = _manifest(directory) if (directory / MANIFEST).exists() else Manifest()
    images = {each.file: each for each in before.images}
    done = []
    for entry in chosen:
        tell(watch, f"exporting {entry.reference}")
        done.append(_export_one(engine, entry, directory))
        images[done[-1].file] = done[-1]
    _write_lists(directory, [images[name] for name in sorted(images)])
    return done


def import_all(engine: Engine, source: Path, watch: Watch | None = None) -> list[Imported]:
    """Load every image of a directory of exports, or one file of it."""
    directory = source if source.is_dir() else source.parent
    sums = read_sums(directory)
    manifest = _checked_manifest(directory, sums)
    wanted = [each for each in manifest.images if source.is_dir() or each.file == source.name]
    if not wanted:
        raise UsageError(f"{source}: {directory / MANIFEST} names no such image", hint="import the directory")
    done = []
    for each in wanted:
        tell(watch, f"checking and loading {each.file}")
        done.append(_import_one(engine, each, directory, sums))
    return done


def read_sums(directory: Path) -> dict[str, str]:
    """File name → sha256. Names are plain: nothing outside of the directory is read."""
    path = directory / SUMS
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}",
            file=str(path),
            hint="tsandbox cache export writes it",
        ) from error
    matches = [_SUM_LINE.fullmatch(line) for line in lines]
    if not lines or not all(matches):
        raise InvalidInput(f"{path}: not a list of `sha256  name` lines with plain names", file=str(path))
    return {match[2]: match[1] for match in matches if match}


def _export_one(engine: Engine, entry: Entry, directory: Path) -> Exported:
    name = file_name(entry)
    temporary = directory / f".{name}.{secrets.token_hex(4)}"
    try:
        engine.save(entry.reference, temporary)
        # Engines write for themselves alone; what is exported is meant to be shared.
        temporary.chmod(0o644)
        digest, size = _hash(temporary), temporary.stat().st_size
        temporary.replace(directory / name)
    finally:
        temporary.unlink(missing_ok=True)
    return Exported(
        file=name,
        sha256=digest,
        size=size,
        key=entry.key,
        image=entry.reference,
        tool=entry.tool,
        platform=entry.platform,
    )


def _write_lists(directory: Path, images: list[Exported]) -> None:
    manifest = msgspec.json.encode(Manifest(made_by=f"tsandbox {__version__}", images=tuple(images)))
    text = msgspec.json.format(manifest, indent=2) + b"\n"
    lines = [(each.file, each.sha256) for each in images] + [(MANIFEST, hashlib.sha256(text).hexdigest())]
    _replace(directory / MANIFEST, text)
    _replace(directory / SUMS, "".join(f"{digest}  {name}\n" for name, digest in sorted(lines)).encode())


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    temporary.write_bytes(content)
    temporary.replace(path)


def _checked_manifest(directory: Path, sums: dict[str, str]) -> Manifest:
    path = directory / MANIFEST
    try:
        digest = _hash(path)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}", file=str(path)) from error
    if sums.get(MANIFEST) != digest:
        raise _tampered(path)
    return _manifest(directory)


def _manifest(directory: Path) -> Manifest:
    path = directory / MANIFEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidInput(f"{path}: not a manifest of exported images: {error}", file=str(path)) from error


def _import_one(engine: Engine, wanted: Exported, directory: Path, sums: dict[str, str]) -> Imported:
    source = directory / wanted.file
    if wanted.file not in sums or sums[wanted.file] != wanted.sha256:
        raise _tampered(source)
    with workplace(engine) as place:
        # A copy that nobody else can write to: what was checked is what is loaded.
        archive = place.directory / "image.oci.tar"
        if _copy(source, archive) != wanted.sha256:
            raise _tampered(source)
        about = described(archive, str(source))
        _check_claims(wanted, about, source)
        loaded = engine.load(archive)
        engine.tag(loaded.id, tag_of(wanted.key))
    note_made(engine.name, wanted.key, loaded.id)
    note_use(engine.name, wanted.key, wanted.tool, str(source))
    return Imported(image=tag_of(wanted.key), key=wanted.key, tool=wanted.tool, file=wanted.file)


def _check_claims(wanted: Exported, about: Described, source: Path) -> None:
    """The image must be what the manifest says, and must not take a name that is not its own."""
    preimage = about.labels.get(PREIMAGE, "")
    key = f"sha256:{hashlib.sha256(preimage.encode()).hexdigest()}"
    names = {prefix + tag_of(wanted.key) for prefix in ("", "localhost/", "docker.io/library/")}
    expected = {
        "its key is not the one in the manifest": about.labels.get(KEY) == wanted.key,
        "its key is not the hash of its preimage": key == wanted.key,
        "its tool is not the one in the manifest": about.labels.get(TOOL) == wanted.tool,
        "its architecture is not the one in the manifest": wanted.platform == f"linux/{about.arch}",
        f"it wants to be called {about.name!r}": about.name in {"", *names},
    }
    for problem, holds in expected.items():
        if not holds:
            raise InvalidInput(f"{source}: {problem}; it was not loaded", file=str(source))
    refuse_foreign(about.arch)


def _copy(source: Path, target: Path) -> str:
    """Copy and hash in one go."""
    digest = hashlib.sha256()
    try:
        with source.open("rb") as reader, target.open("xb") as writer:
            while chunk := reader.read(1 << 20):
                digest.update(chunk)
                writer.write(chunk)
    except FileNotFoundError as error:
        raise InvalidInput(f"{source}: is in {SUMS}, but not there", file=str(source)) from error
    return digest.hexdigest()


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _tampered(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path}: is not the file that {SUMS} describes; nothing of it was loaded",
        file=os.fspath(path),
        hint="it was damaged or changed on the way: copy it again, or export it again",
    )
