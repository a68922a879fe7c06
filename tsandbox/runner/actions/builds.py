"""Builds from source with the toolchain that the recipe declares; the install directory is the prefix."""

import os
from pathlib import Path

from tsandbox.runner.actions.install import check_outputs, make_binaries
from tsandbox.runner.context import Argv, Context, Effect
from tsandbox.runner.params import Params


def setup_build_env(context: Context, _: Params) -> Effect:
    return Effect(env=build_env(context))


def configure_make(context: Context, params: Params) -> Effect:
    source = context.existing(params.optional("source_dir") or ".")
    env = build_env(context)
    make = context.need("make")
    if not params.flag("skip_configure"):
        configure = context.existing(str(source / "configure"))
        configure.chmod(configure.stat().st_mode | 0o111)
        argv: Argv = [configure, f"--prefix={context.install_dir}", *params.texts("configure_args")]
        context.run(argv, cwd=source, env=env)
    arguments = params.texts("make_args")
    targets = params.texts("make_targets")
    context.run([make, f"-j{_jobs()}", *arguments, *targets], cwd=source, env=env)
    # A makefile without configure learns of the prefix here, in the two usual spellings.
    prefix = [f"{name}={context.install_dir}" for name in ("PREFIX", "prefix")]
    install = prefix if params.flag("skip_configure") else []
    context.run([make, "install", *arguments, *install], cwd=source, env=env)
    return _executables(context, params)


def cmake_build(context: Context, params: Params) -> Effect:
    source = context.existing(params.optional("source_dir") or ".")
    cmake = context.need("cmake")
    env = build_env(context)
    build = _build_dir(context)
    kind = params.optional("build_type") or "Release"
    configure: Argv = [
        cmake, "-S", source, "-B", build,
        f"-DCMAKE_INSTALL_PREFIX={context.install_dir}",
        f"-DCMAKE_BUILD_TYPE={kind}",
        f"-DCMAKE_PREFIX_PATH={';'.join(str(path) for path in context.installed.values())}",
        "-DCMAKE_INSTALL_LIBDIR=lib",
        *params.texts("cmake_args"),
    ]  # fmt: skip
    context.run(configure, env=env)
    context.run([cmake, "--build", build, "--parallel", str(_jobs())], env=env)
    context.run([cmake, "--install", build], env=env)
    return _executables(context, params)


def meson_build(context: Context, params: Params) -> Effect:
    source = context.existing(params.optional("source_dir") or ".")
    meson = context.need("meson")
    context.need("ninja")
    env = build_env(context)
    build = _build_dir(context)
    setup: Argv = [
        meson, "setup", build, source,
        f"--prefix={context.install_dir}",
        "--libdir=lib",
        f"--buildtype={params.optional('buildtype') or 'release'}",
        # Subprojects are downloads, and there is no network.
        f"--wrap-mode={params.optional('wrap_mode') or 'nofallback'}",
        *params.texts("meson_args"),
    ]  # fmt: skip
    context.run(setup, env=env)
    context.run([meson, "compile", "-C", build, "-j", str(_jobs())], env=env)
    context.run([meson, "install", "-C", build, "--no-rebuild"], env=env)
    return _executables(context, params)


def build_env(context: Context) -> dict[str, str]:
    """Where compilers find the headers and libraries of this plan's dependencies."""
    roots = list(context.installed.values())
    includes = [f"-I{root}/include" for root in roots if (root / "include").is_dir()]
    libraries = [f"-L{root}/lib -Wl,-rpath,{root}/lib" for root in roots if (root / "lib").is_dir()]
    configs = [str(root / "lib/pkgconfig") for root in roots if (root / "lib/pkgconfig").is_dir()]
    found = {
        "CPPFLAGS": _joined(context, "CPPFLAGS", includes, " "),
        "LDFLAGS": _joined(context, "LDFLAGS", libraries, " "),
        "PKG_CONFIG_PATH": _joined(context, "PKG_CONFIG_PATH", configs, ":"),
    }
    return {name: value for name, value in found.items() if value}


def _joined(context: Context, name: str, values: list[str], separator: str) -> str:
    before = context.env.get(name, "")
    fresh = [value for value in values if value not in before]
    return separator.join([*fresh, *([before] if before else [])])


def _build_dir(context: Context) -> Path:
    build = context.tmp_dir / f"build-{context.tool.name}-{context.step.number}"
    build.mkdir(parents=True, exist_ok=True)
    return build


def _executables(context: Context, params: Params) -> Effect:
    targets = [name if "/" in name else f"bin/{name}" for name in params.texts("executables")]
    check_outputs(context, targets)
    return Effect(binaries=make_binaries(context, targets))


def _jobs() -> int:
    return len(os.sched_getaffinity(0))
