"""From the work directory into the install directory: programs, libraries, whole trees, and the environment."""

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from tsandbox.runner.context import Context, Effect
from tsandbox.runner.failures import StepFailed
from tsandbox.runner.params import Pair, Params
from tsandbox.runner.trees import walk

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def install_binaries(context: Context, params: Params) -> Effect:
    mode = params.optional("install_mode") or "binaries"
    pairs = [*params.pairs("binaries"), *params.pairs("binary")]
    outputs = params.texts("outputs")
    if mode in ("directory", "directory_wrapped"):
        targets = [pair.source for pair in pairs]
        # A build step may have installed everything already; then the work directory holds only its sources.
        if not _all_there(context, [*targets, *outputs]):
            link_tree(context.work_dir, context.install_dir)
    elif mode == "binaries":
        targets = [_install(context, pair) for pair in pairs]
        targets += [_install(context, Pair(output, output)) for output in outputs if not pairs]
    else:
        raise StepFailed("invalid", f"install_binaries: unknown install_mode {mode!r}", param="install_mode")
    check_outputs(context, [*targets, *outputs])
    programs = [*targets, *(output for output in outputs if output.startswith("bin/"))]
    return Effect(binaries=make_binaries(context, programs))


def _install(context: Context, pair: Pair) -> str:
    target = pair.target or f"bin/{Path(pair.source).name}"
    source = context.existing(pair.source)
    destination = _destination(context, target)
    real = Path(os.path.realpath(source))
    if real != Path(os.path.realpath(destination)):
        copy_file(real, destination)
    return target


def _destination(context: Context, target: str) -> Path:
    path = Path(os.path.normpath(context.install_dir / target))
    if not path.is_relative_to(context.install_dir):
        raise StepFailed("invalid", f"{target!r} lies outside of the install directory", path=target)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _all_there(context: Context, targets: list[str]) -> bool:
    return bool(targets) and all((context.install_dir / target).exists() for target in targets)


def check_outputs(context: Context, outputs: list[str]) -> None:
    missing = [output for output in outputs if not os.path.lexists(context.install_dir / output)]
    if missing:
        message = f"declared but not installed: {', '.join(missing)}"
        raise StepFailed("missing_output", message, files=missing)


def make_binaries(context: Context, targets: list[str]) -> dict[str, Path]:
    """The programs to offer under their own names, made executable."""
    binaries = {}
    for target in targets:
        path = context.install_dir / target
        # A library or header among the outputs is nothing to run.
        if path.is_file():
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o755)
            binaries[path.name] = path
    return binaries


def install_libraries(context: Context, params: Params) -> Effect:
    patterns = params.texts("patterns")
    found = [path for pattern in patterns for path in _matches(context, pattern)]
    if not found:
        message = f"no file matches {', '.join(patterns)}"
        raise StepFailed("missing_output", message, files=patterns)
    for path in found:
        copy_file(path, _destination(context, str(path.relative_to(context.work_dir))))
    return Effect(note=f"{len(found)} files")


def _matches(context: Context, pattern: str) -> Iterator[Path]:
    context.path(pattern)
    for path in sorted(context.work_dir.glob(pattern)):
        if path.is_file() or path.is_symlink():
            yield path


def link_dependencies(context: Context, params: Params) -> Effect:
    """The libraries of a dependency, beside the tool's own."""
    library = params.text("library")
    source = context.installed.get(library)
    if source is None or not (source / "lib").is_dir():
        message = f"{library} is no installed dependency with a lib directory"
        raise StepFailed("missing_output", message, files=[f"{library}/lib"])
    target = context.install_dir / "lib"
    target.mkdir(parents=True, exist_ok=True)
    entries = sorted((source / "lib").iterdir())
    for entry in entries:
        if not os.path.lexists(target / entry.name):
            (target / entry.name).symlink_to(os.path.relpath(entry, target))
    return Effect(note=f"{len(entries)} files of {source.name}")


def set_env(context: Context, params: Params) -> Effect:
    """Variables for the later steps and the verification, and an `env.sh` for people's shells."""
    env = {str(each.get("name")): str(each.get("value", "")) for each in params.tables("vars")}
    for name in env:
        if not _ENV_NAME.fullmatch(name):
            raise StepFailed("invalid", f"set_env: {name!r} is no name of a variable", param="vars")
    context.install_dir.mkdir(parents=True, exist_ok=True)
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in env.items()]
    (context.install_dir / "env.sh").write_text("".join(lines))
    return Effect(env=env)


def set_rpath(context: Context, params: Params) -> Effect:
    patchelf = context.need("patchelf")
    rpath = params.optional("rpath") or "$ORIGIN/../lib"
    for name in params.texts("binaries"):
        context.run([patchelf, "--set-rpath", rpath, context.existing(name)])
    return Effect()


def link_tree(source: Path, target: Path) -> None:
    """A copy of a tree that shares the files' storage where the file system can; existing files are replaced."""
    for directory, folders, others in walk(source):
        here = target / Path(directory).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        folders[:] = [entry for entry in folders if entry.name != ".install"]
        for entry in others:
            if entry.name != ".install":
                copy_file(Path(entry.path), here / entry.name)


def copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(target):
        target.unlink()
    if source.is_symlink() and not source.readlink().is_absolute():
        target.symlink_to(source.readlink())
        return
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def wrapper(path: Path, program: Path, env: dict[str, str]) -> None:
    """A script that runs `program` with `env`, for tools that find their libraries by variables."""
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in env.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(f'#!/bin/sh\n{exports}exec {shlex.quote(str(program))} "$@"\n')
    path.chmod(0o755)
