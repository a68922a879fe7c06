"""Tools that their language's own client installs, where the image has that client."""

import shutil
from pathlib import Path

from tsandbox.runner.actions.install import check_outputs, make_binaries, wrapper
from tsandbox.runner.context import Argv, Context, Effect
from tsandbox.runner.failures import StepFailed
from tsandbox.runner.params import Params


def cargo_install(context: Context, params: Params) -> Effect:
    cargo = context.need("cargo")
    home = _writable(context, "cargo")
    version = ["--version", _version(context, params)] if _version(context, params) else []
    offline = [] if context.options.online else ["--offline"]
    argv: Argv = [cargo, "install", *offline, "--locked", "--root", context.install_dir, *version]
    context.run([*argv, "--", params.text("crate", "package")], env={"CARGO_HOME": str(home)})
    return _offer(context, params)


def go_install(context: Context, params: Params) -> Effect:
    go = context.need("go")
    modules = context.places.ecosystem("go")
    bin_dir = context.install_dir / "bin"
    bin_dir.mkdir(parents=True, exist_ok=True)
    env = {
        "GOBIN": str(bin_dir),
        "GOMODCACHE": str(context.tmp_dir / "go-mod"),
        "GOCACHE": str(context.tmp_dir / "go-cache"),
        # Downloaded modules must be removable with the rest of the run.
        "GOFLAGS": "-modcacherw",
    }
    if modules.is_dir():
        env |= {"GOPROXY": f"file://{modules}/cache/download", "GOSUMDB": "off", "GONOSUMDB": "*"}
    elif not context.options.online:
        env["GOPROXY"] = "off"
    version = _version(context, params)
    tagged = "latest" if not version else version if version[0] == "v" else f"v{version}"
    context.run([go, "install", f"{_package(params, 'module', 'package')}@{tagged}"], env=env)
    return _offer(context, params)


def gem_install(context: Context, params: Params) -> Effect:
    gem = context.need("gem")
    gems = context.install_dir / "gems"
    own_bin = context.install_dir / "libexec"
    files = sorted(context.places.ecosystem("gem").glob("*.gem"))
    version = ["--version", _version(context, params)] if _version(context, params) and not files else []
    argv: Argv = [gem, "install", "--no-document", "--install-dir", gems, "--bindir", own_bin, *version]
    if files:
        # --force: the files are the whole closure, and gem need not find their order.
        context.run([*argv, "--local", "--force", *files])
    else:
        local = [] if context.options.online else ["--local"]
        context.run([*argv, *local, _package(params, "gem", "package")])
    return _wrapped(context, params, own_bin, {"GEM_HOME": str(gems), "GEM_PATH": str(gems)})


def cpan_install(context: Context, params: Params) -> Effect:
    cpanm = context.need("cpanm")
    mirror = context.places.ecosystem("cpan")
    root = context.install_dir / "perl"
    source = ["--mirror", f"file://{mirror}", "--mirror-only"] if mirror.is_dir() else []
    module = params.optional("module") or params.text("distribution").replace("-", "::")
    context.run([cpanm, "--notest", "--local-lib-contained", root, *source, module])
    return _wrapped(context, params, root / "bin", {"PERL5LIB": str(root / "lib/perl5")})


def _version(context: Context, params: Params) -> str:
    return params.optional("version") or context.tool.version or ""


def _package(params: Params, *names: str) -> str:
    package = params.text(*names)
    if package.startswith("-"):
        raise StepFailed("invalid", f"{package!r} is no package name", param=names[0])
    return package


def _writable(context: Context, name: str) -> Path:
    """A copy of the inputs for a client that writes into its own cache."""
    target = context.tmp_dir / name
    source = context.places.ecosystem(name)
    if source.is_dir() and not target.exists():
        shutil.copytree(source, target, symlinks=True)
    target.mkdir(parents=True, exist_ok=True)
    return target


def _offer(context: Context, params: Params) -> Effect:
    targets = [f"bin/{name}" for name in params.texts("executables")]
    check_outputs(context, targets)
    return Effect(binaries=make_binaries(context, targets))


def _wrapped(context: Context, params: Params, own_bin: Path, env: dict[str, str]) -> Effect:
    names = params.texts("executables") or sorted(path.name for path in own_bin.glob("*"))
    check_outputs(context, [str((own_bin / name).relative_to(context.install_dir)) for name in names])
    for name in names:
        wrapper(context.install_dir / "bin" / name, own_bin / name, env)
    return Effect(binaries=make_binaries(context, [f"bin/{name}" for name in names]))
