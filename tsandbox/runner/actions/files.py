"""Files in the work directory: unpacked, made executable, edited and patched."""

import re
from pathlib import Path

from tsandbox.runner.context import Context, Effect
from tsandbox.runner.failures import StepFailed
from tsandbox.runner.formats import extract as unpack_archive
from tsandbox.runner.params import Params


def extract(context: Context, params: Params) -> Effect:
    archive = context.existing(params.text("archive"))
    unpack(context, params, archive, declared=params.optional("format"))
    # An installed directory is what was in the archive, not the archive.
    archive.unlink()
    return Effect()


def unpack(context: Context, params: Params, archive: Path, *, declared: str | None) -> None:
    into = context.path(params.optional("dest", "target_dir") or ".")
    strip = params.number("strip_dirs", 0)
    unpack_archive(archive, into, declared=declared, strip=strip, find=context.which)


def chmod(context: Context, params: Params) -> Effect:
    text = params.optional("mode") or "0755"
    if not re.fullmatch(r"0?o?[0-7]{3,4}", text):
        raise StepFailed("invalid", f"chmod: {text!r} is no octal mode", param="mode")
    mode = int(text.removeprefix("0o"), 8) & 0o777
    for name in params.texts("files"):
        context.existing(name).chmod(mode)
    return Effect()


def text_replace(context: Context, params: Params) -> Effect:
    name, pattern = params.text("file"), params.text("pattern")
    path = context.existing(name)
    # Bytes that are no text pass through unchanged.
    before = path.read_bytes().decode(errors="surrogateescape")
    after, count = _replace(before, pattern, params.optional("replacement") or "", regex=params.flag("regex"))
    _rewrite(path, after.encode(errors="surrogateescape"))
    return Effect(note=f"{name}: {count} replaced" if count else f"{name}: nothing matched {pattern!r}")


def _replace(text: str, pattern: str, replacement: str, *, regex: bool) -> tuple[str, int]:
    if not regex:
        return text.replace(pattern, replacement), text.count(pattern)
    try:
        # Recipes write groups as in Go: $1 and ${1}.
        return re.subn(pattern, re.sub(r"\$\{?(\d+)\}?", r"\\g<\1>", replacement), text)
    except re.error as error:
        raise StepFailed("invalid", f"text_replace: {error}", param="pattern") from error


def _rewrite(path: Path, content: bytes) -> None:
    """A new file instead of a changed one: installed files may share the old one's storage."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(content)
    fresh.chmod(path.stat().st_mode & 0o777)
    fresh.replace(path)


def apply_patch_file(context: Context, params: Params) -> Effect:
    data = params.optional("data")
    patch = data.encode() if data is not None else context.existing(params.text("file")).read_bytes()
    directory = context.existing(params.optional("subdir") or ".")
    strip = params.number("strip", 1)
    for target in _targets(patch, strip):
        context.path(str(directory / target))
    context.run([context.need("patch"), f"-p{strip}"], cwd=directory, stdin=patch)
    return Effect()


def _targets(patch: bytes, strip: int) -> list[str]:
    """The files that a patch names; `patch` programs differ in whether they refuse paths that lead out."""
    names = re.findall(rb"^(?:---|\+\+\+) ([^\t\n]+)", patch, re.MULTILINE)
    decoded = (name.decode(errors="surrogateescape").strip() for name in names)
    return ["/".join(name.split("/")[strip:]) for name in decoded if name != "/dev/null"]


def run_command(context: Context, params: Params) -> Effect:
    if not context.options.allow_run_command:
        message = "run_command is off: the recipe runs a shell command of its own; allow it if you trust it"
        raise StepFailed("not_allowed", message, action="run_command", command=params.text("command"))
    directory = context.existing(params.optional("working_dir") or ".")
    context.run(["/bin/sh", "-c", params.text("command")], cwd=directory)
    return Effect(note=params.optional("description"))
