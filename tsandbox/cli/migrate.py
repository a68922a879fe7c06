"""`tsandbox migrate`: from free-text install guides to structured steps."""

import errno
import os
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from tsandbox.cli.entry import tell
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.errors import InvalidInput, Problem
from tsandbox.plan.files import Source, find_sources, read_text, shown
from tsandbox.plan.load import wrong_kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tsandbox.recipe.migrate import Migration

Mode = Literal["diff", "write", "check"]


class Done(NamedTuple):
    """One recipe: how it would change, or why it cannot."""

    source: Source
    migration: "Migration | None" = None
    error: InvalidInput | None = None


@click.command(
    name="migrate",
    epilog=examples(
        "tsandbox migrate my.toml                what would change",
        "tsandbox migrate recipes/ --write       change the files",
        "tsandbox migrate recipes/ --check       in CI: exit code 3 where something is left to migrate",
        "tsandbox migrate - --write < my.toml    from standard input to standard output",
    ),
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--diff", "mode", flag_value="diff", default=True, help="Show the changes (the default).")
@click.option("--write", "mode", flag_value="write", help="Write the changes into the files.")
@click.option("--check", "mode", flag_value="check", help="Name the files that would change; exit code 3 if any would.")
@output_options
@click.pass_obj
def command(output: Output, paths: tuple[str, ...], mode: Mode) -> int:
    """Turn free-text install guides into structured steps.

    PATH is a recipe, a directory of them, or `-`. Texts that no machine can carry out are kept as `manual` steps and
    listed. Comments and layout of everything else stay as they are.
    """
    done = []
    for each in _migrate_all(paths):
        finished = _write(each) if mode == "write" else each
        done.append(finished)
        _tell(finished, mode, output)
    changed = sum(each.migration is not None and each.migration.changed for each in done)
    failed = [each for each in done if each.error is not None]
    code = InvalidInput.exit_code if failed or (mode == "check" and changed) else 0
    if output.json:
        _answer(output, done, mode, code)
    verb = "changed" if mode == "write" else "would change"
    output.progress(f"{len(done)} looked at, {changed} {verb}, {len(failed)} could not be migrated")
    return code


def _migrate_all(paths: tuple[str, ...]) -> "Iterator[Done]":
    for path in paths:
        try:
            for source in find_sources([path], [".toml"]):
                yield _migrate(source)
        except InvalidInput as error:
            yield Done(Source(shown(path), None), error=error)


def _migrate(source: Source) -> Done:
    from tsandbox.recipe.migrate import migrate

    try:
        text = read_text(source)
        if text.kind != "recipe":
            raise wrong_kind(text.file, text.kind, "recipe")
        return Done(source, migrate(text.text, text.file))
    except InvalidInput as error:
        return Done(source, error=error)


def _write(done: Done) -> Done:
    migration, path = done.migration, done.source.path
    if migration is None or not migration.changed or path is None:
        return done
    try:
        _replace(path, migration.after.encode())
    except OSError as error:
        if error.errno == errno.ENOSPC:
            # The next file would fare no better.
            raise
        problem = Problem(done.source.name, None, "", f"cannot be written: {error.strerror or error}")
        return done._replace(migration=None, error=InvalidInput(str(problem), problems=[problem]))
    return done


def _replace(path: "Path", data: bytes) -> None:
    """All of the new text or the old one, whatever happens in between; a link keeps leading to its file."""
    real = path.resolve()
    new = real.with_name(f".{real.name}.{os.getpid()}.new")
    try:
        new.write_bytes(data)
        new.chmod(real.stat().st_mode & 0o7777)
        new.replace(real)
    finally:
        new.unlink(missing_ok=True)


def _tell(done: Done, mode: Mode, output: Output) -> None:
    if done.error is not None:
        if not output.json:
            tell(done.error)
        return
    migration = done.migration
    if migration is None:
        return
    if not output.json:
        _show(done, migration, mode, output)
    for kept in migration.kept:
        place = migration.file if kept.line is None else f"{migration.file}:{kept.line}"
        fate = "dropped, as no platform of the step is left for it" if kept.dropped else "kept as manual"
        output.warn(safe(f"{place}: {kept.platform}: {kept.text!r}: {fate}"))


def _show(done: Done, migration: "Migration", mode: Mode, output: Output) -> None:
    if mode == "diff":
        for line in _diff(migration):
            output.say(_coloured(safe(line)))
    elif mode == "write" and done.source.path is None:
        # As it is: this goes into a file, and a shell's redirection is no terminal.
        output.data(migration.after)
    elif migration.changed:
        output.say(safe(migration.file))


def _diff(migration: "Migration") -> "Iterator[str]":
    from difflib import unified_diff

    before, after = (text.removesuffix("\n").split("\n") for text in (migration.before, migration.after))
    return unified_diff(before, after, migration.file, migration.file, lineterm="")


def _coloured(line: str) -> str:
    colours = {"+": "green", "-": "red", "@": "cyan"}
    return click.style(line, fg=colours[line[0]]) if line[:1] in colours else line


def _answer(output: Output, done: list[Done], mode: Mode, code: int) -> None:
    from tsandbox.report.result import error_record

    failed = next((each.error for each in done if each.error is not None), None)
    error = failed or (InvalidInput("install guides are left: tsandbox migrate --write") if code else None)
    output.answer(
        code,
        status="error" if code else "passed",
        stage="load",
        files=[_file_object(each, mode) for each in done],
        error=error_record(error) if error else None,
    )


def _file_object(done: Done, mode: Mode) -> dict[str, object]:
    from tsandbox.report.result import error_record

    migration = done.migration
    return {
        "file": done.source.name,
        "changed": migration is not None and migration.changed,
        "written": migration is not None and migration.changed and mode == "write" and done.source.path is not None,
        "after": migration.after if migration and migration.changed and mode != "check" else None,
        "kept": migration.kept if migration else (),
        "error": error_record(done.error) if done.error else None,
    }
