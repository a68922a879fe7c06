"""Python tools: a virtual environment of their own, filled from wheels that the host fetched."""

from pathlib import Path

from tsandbox.runner.actions.install import check_outputs, make_binaries
from tsandbox.runner.context import Context, Effect
from tsandbox.runner.failures import StepFailed
from tsandbox.runner.params import Params

# What a virtual environment brings along; the rest of its bin directory came with the packages.
_OWN = ("python", "pip", "activate", "Activate", "wheel", "easy_install")


def pip_install(context: Context, params: Params) -> Effect:
    """`pipx_install`, `pip_install` and `pip_exec`: they differ in how the packages are named."""
    python = context.need("python3")
    venv = context.install_dir / "venv"
    # --without-pip: the image need not have ensurepip (Debian ships it apart); pip comes from the inputs.
    context.run([python, "-m", "venv", "--without-pip", venv])
    pip = [*_pip(context, python), "--python", venv / "bin/python"]
    options = ["--no-input", "--disable-pip-version-check", "--no-cache-dir", *_source(context)]
    context.run([*pip, "install", *options, *_packages(context, params)])
    return Effect(binaries=_offer(context, venv, params.texts("executables")))


def _pip(context: Context, python: str) -> list[str | Path]:
    """pip runs from its own wheel, as from any zip file with a __main__."""
    wheels = sorted(context.places.ecosystem("pip").glob("pip-*.whl"))
    return [python, wheels[-1] / "pip"] if wheels else [python, "-m", "pip"]


def _source(context: Context) -> list[str | Path]:
    wheels = context.places.ecosystem("pip")
    if context.options.online:
        return []
    return ["--no-index", "--find-links", wheels] if wheels.is_dir() else ["--no-index"]


def _packages(context: Context, params: Params) -> list[str | Path]:
    if locked := params.optional("locked_requirements", "requirements"):
        file = context.tmp_dir / f"requirements-{context.step.number}.txt"
        file.write_text(locked)
        return ["--require-hashes", "-r", file] if "--hash=" in locked else ["-r", file]
    if source := params.optional("source_dir"):
        return [context.existing(source)]
    name = params.text("package")
    if name.startswith("-"):
        raise StepFailed("invalid", f"{name!r} is no package name", param="package")
    version = params.optional("version") or context.tool.version
    return [f"{name}=={version}" if version else name]


def _offer(context: Context, venv: Path, executables: list[str]) -> dict[str, Path]:
    names = executables or sorted(path.name for path in (venv / "bin").iterdir() if not path.name.startswith(_OWN))
    check_outputs(context, [f"venv/bin/{name}" for name in names])
    (context.install_dir / "bin").mkdir(exist_ok=True)
    for name in names:
        (context.install_dir / "bin" / name).symlink_to(f"../venv/bin/{name}")
    return make_binaries(context, [f"bin/{name}" for name in names])
