"""The real pip, on an index that is a directory: what it gets, and that it runs nothing of what it gets."""

import zipfile
from pathlib import Path

import pytest

from tests.unit.sandbox.plans import DEBIAN
from tsandbox.engine.process import CommandFailed
from tsandbox.plan.select import platform_of
from tsandbox.sandbox import pip

BACKEND = """
from pathlib import Path
Path({ran!r}).touch()
"""


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "index"
    directory.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    wheel(directory, "pip", "24.0")
    return directory


def wheel(directory: Path, name: str, version: str, *needs: str) -> None:
    about = "".join(f"Requires-Dist: {each}\n" for each in needs)
    inside = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(directory / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{inside}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{about}")
        file.writestr(f"{inside}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{inside}/RECORD", "")


def test_wheels_are_fetched_with_what_they_depend_on(index: Path, tmp_path: Path) -> None:
    wheel(index, "tool", "1.5", "other")
    wheel(index, "other", "0.1")
    lock = pip.resolve("tool==1.5", platform_of(DEBIAN), tmp_path / "into")
    assert [line.split(" ")[0] for line in lock.splitlines()] == ["other==0.1", "tool==1.5"]


@pytest.mark.parametrize("address", ["file://{source}", "git+https://host.invalid/other.git"])
def test_what_a_wheel_names_by_address_is_not_built_here(index: Path, tmp_path: Path, address: str) -> None:
    source, ran = tmp_path / "source", tmp_path / "ran"
    source.mkdir()
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (source / "backend.py").write_text(BACKEND.format(ran=str(ran)))
    wheel(index, "tool", "1.5", f"other @ {address.format(source=source)}")
    with pytest.raises(CommandFailed) as raised:
        pip.resolve("tool==1.5", platform_of(DEBIAN), tmp_path / "into")
    assert "ERROR: not a wheel: pip would have to run" in raised.value.output
    assert not ran.exists()


def test_a_pip_in_the_directory_that_we_are_called_in_is_not_run(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout, ran = tmp_path / "checkout", tmp_path / "ran"
    checkout.mkdir()
    (checkout / "pip.py").write_text(BACKEND.format(ran=str(ran)))
    monkeypatch.chdir(checkout)
    pip.resolve("pip", platform_of(DEBIAN), tmp_path / "into")
    assert not ran.exists()
