"""Python packages through pip: wheels only, because building anything else would run its code on the host."""

import hashlib
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tsandbox.derive import bases
from tsandbox.engine import process
from tsandbox.errors import DownloadFailed
from tsandbox.plan import Platform
from tsandbox.recipe import grammar
from tsandbox.sandbox import pip_lock

LOCK = "locked_requirements"
_TIMEOUT = 600.0
_QUIET = ("--disable-pip-version-check", "--no-input", "--quiet")
# Its `sitecustomize` keeps pip from running anything.
_ALONE = Path(__file__).parent / "pip_alone"


def latest_version(package: str) -> str:
    said = _pip("index", "versions", "--disable-pip-version-check", package)
    match = re.match(r"\S+ \(([^)]+)\)", said)
    if match is None:
        raise DownloadFailed(
            f"pip does not say which version of {package} is the latest", hint="pin one: [version] pin"
        )
    return match[1]


def wanted(params: Mapping[str, Any], version: str | None) -> str | None:
    """The requirement as pip reads it; a source directory is not known before the run."""
    package = params.get("package")
    if not isinstance(package, str) or params.get("source_dir") or params.get("requirements"):
        return None
    chosen = chosen_version(params, version)
    return f"{package}=={chosen}" if chosen else package


def chosen_version(params: Mapping[str, Any], version: str | None) -> str | None:
    """The step's own version or else the tool's; what a client would read as anything but a version is refused."""
    own = params.get("version")
    chosen = own if isinstance(own, str) and own and "{" not in own else version
    if chosen and (fault := grammar.package_version(chosen)):
        raise DownloadFailed(fault, hint='write the package\'s version into the step: version = "…"')
    return chosen


def resolve(requirement: str, platform: Platform, into: Path) -> str:
    """Fetch a requirement with all that it depends on; the lock names every file by its digest."""
    _download([requirement], platform, into)
    lines = [f"{name}=={version} --hash=sha256:{digest}" for name, version, digest in _wheels(into)]
    offer_itself(into)
    return "\n".join(lines) + "\n"


def fetch(lock: str, platform: Platform, into: Path) -> None:
    requirements = into / "requirements.txt"
    requirements.write_text(pip_lock.checked(lock), encoding="utf-8")
    _download(["--require-hashes", "--requirement", str(requirements)], platform, into)
    requirements.unlink()
    offer_itself(into)


def _download(what: list[str], platform: Platform, into: Path) -> None:
    _pip("download", *_QUIET, "--only-binary=:all:", *_target(platform), "--dest", into, *what)


def offer_itself(into: Path) -> None:
    """pip itself, as a wheel: an image, or a host, with Python need not have it."""
    into.mkdir(parents=True, exist_ok=True)
    if not list(into.glob("pip-*.whl")):
        _pip("download", *_QUIET, "--no-deps", "--only-binary=:all:", "--dest", into, "pip")


def _pip(*words: str | Path) -> str:
    # -P: the directory that we are called in may be somebody's checkout, and a `pip.py` in it is not pip.
    program = [sys.executable, "-P", "-m", "pip"] if find_spec("pip") else [shutil.which("pip3") or "pip"]
    path = os.pathsep.join(filter(None, (str(_ALONE), os.environ.get("PYTHONPATH"))))
    return process.run([*program, *words], env={"PYTHONPATH": path}, timeout=_TIMEOUT).text


def _target(platform: Platform) -> list[str]:
    """Which wheels fit the image. Where its Python is not known, only those without compiled parts do."""
    suite = bases.default_suite()
    machine = facts()["machine"].get(platform.arch, platform.arch)
    if platform.linux_family != "debian" or suite not in facts()["python"]:
        return ["--python-version=3", "--implementation=py", "--abi=none", "--platform=any"]
    version = facts()["python"][suite]
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(facts()["glibc"][suite], 4, -1)]
    tags += [f"{old}_{machine}" for old in ("manylinux2014", "manylinux2010", "manylinux1", "linux")]
    abis = (f"cp{version.replace('.', '')}", "abi3", "none")
    return [
        f"--python-version={version}",
        "--implementation=cp",
        *(f"--abi={abi}" for abi in abis),
        *(f"--platform={tag}" for tag in tags),
    ]


def _wheels(directory: Path) -> list[tuple[str, str, str]]:
    """Name, version and sha256 of every wheel; the file name begins with the first two."""
    found = []
    for path in sorted(directory.glob("*.whl")):
        name, version = path.name.split("-")[:2]
        found.append((name, version, hashlib.sha256(path.read_bytes()).hexdigest()))
    return found


@cache
def facts() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "ecosystem.toml").read_text(encoding="utf-8"))
