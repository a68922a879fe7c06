"""Node tools: installed by npm from a cache that the host filled."""

import json
import shutil
from pathlib import Path

from tsandbox.runner.actions.install import check_outputs, make_binaries
from tsandbox.runner.context import Context, Effect
from tsandbox.runner.failures import StepFailed
from tsandbox.runner.params import Params

_QUIET = ("--no-audit", "--no-fund", "--no-update-notifier")


def npm_install(context: Context, params: Params) -> Effect:
    if "package_lock" in params:
        return npm_exec(context, params)
    npm = context.need("npm")
    context.need("node")
    package = _named(context, params)
    argv = [npm, "install", "--global", f"--prefix={context.install_dir}", *_source(context), *_QUIET, package]
    context.run(argv)
    return _offer(context, params, "bin")


def npm_exec(context: Context, params: Params) -> Effect:
    """The same from a lock file, which fixes every package below the one that is wanted."""
    if "package_lock" not in params:
        return npm_install(context, params)
    npm = context.need("npm")
    context.need("node")
    context.install_dir.mkdir(parents=True, exist_ok=True)
    lock = params.text("package_lock")
    (context.install_dir / "package-lock.json").write_text(lock)
    (context.install_dir / "package.json").write_text(_manifest(lock))
    context.run([npm, "ci", *_source(context), *_QUIET], cwd=context.install_dir)
    names = params.texts("executables") or _programs(context.install_dir / "node_modules" / params.text("package"))
    check_outputs(context, [f"node_modules/.bin/{name}" for name in names])
    (context.install_dir / "bin").mkdir(exist_ok=True)
    for name in names:
        (context.install_dir / "bin" / name).symlink_to(f"../node_modules/.bin/{name}")
    return Effect(binaries=make_binaries(context, [f"bin/{name}" for name in names]))


def _programs(package: Path) -> list[str]:
    """The programs that a package says it brings."""
    declared = json.loads((package / "package.json").read_text()).get("bin") or {}
    return sorted(declared) if isinstance(declared, dict) else [package.name]


def _named(context: Context, params: Params) -> str:
    package = params.text("package")
    if package.startswith("-"):
        raise StepFailed("invalid", f"{package!r} is no package name", param="package")
    version = params.optional("version") or context.tool.version
    return f"{package}@{version}" if version else package


def _manifest(lock: str) -> str:
    """The package.json that a lock file was made from: npm demands that they agree."""
    try:
        root = json.loads(lock)["packages"][""]
    except (ValueError, KeyError, TypeError) as error:
        raise StepFailed("invalid", f"package_lock is no npm lock file: {error}", param="package_lock") from error
    return json.dumps({key: root[key] for key in ("name", "version", "dependencies") if key in root})


def _source(context: Context) -> list[str]:
    given = context.places.ecosystem("npm")
    cache = context.tmp_dir / "npm-cache"
    if not cache.exists():
        _copy_cache(given / "cache", cache)
    options = [f"--cache={cache}"]
    if (given / "npmrc").is_file():
        # The cache is keyed by the registry's address, so npm must be told the one that filled it.
        options.append(f"--userconfig={given / 'npmrc'}")
    return options if context.options.online else [*options, "--offline"]


def _copy_cache(source: Path, target: Path) -> None:
    # npm writes to its cache even when it only reads packages from it.
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        target.mkdir(parents=True)


def _offer(context: Context, params: Params, directory: str) -> Effect:
    names = params.texts("executables")
    folder = context.install_dir / directory
    if not names and folder.is_dir():
        names = sorted(path.name for path in folder.iterdir())
    targets = [f"{directory}/{name}" for name in names]
    check_outputs(context, targets)
    return Effect(binaries=make_binaries(context, targets))
