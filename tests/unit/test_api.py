"""The public API: what `tsandbox` exports, lazily, and the example that documents it."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import tsandbox
from tests.made_plans import plan, step

ROOT = Path(__file__).parents[2]
PUBLIC = {"load", "Recipe", "Plan", "Target", "select", "derive", "ContainerSpec", "render", "image_key"}


def example() -> str:
    blocks = re.findall(r"\n\n((?:    .*\n|\n)+)", tsandbox.__doc__ or "")
    return textwrap.dedent("\n".join(blocks))


def test_the_documented_example_runs_and_prints_what_it_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    source = example()
    names: dict[str, Any] = {}
    exec(compile(source, "example", "exec"), names)
    printed = capsys.readouterr().out
    promised = re.findall(r"#\s*(.+)", source)
    assert len(promised) == 3
    for text in promised:
        assert text.removesuffix("…") in printed


def test_everything_public_is_exported() -> None:
    assert set(tsandbox.__all__) == PUBLIC
    assert set(dir(tsandbox)) >= PUBLIC
    for name in PUBLIC:
        assert getattr(tsandbox, name) is not None


def test_importing_the_package_loads_nothing() -> None:
    loaded = "import sys; before = set(sys.modules); import tsandbox; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    own = [name for name in done.stdout.split() if name.startswith(("tsandbox", "msgspec", "click", "jinja2"))]
    assert own == ["tsandbox"]


@pytest.mark.parametrize(
    "first", ["from tsandbox import derive", "import tsandbox.derive; from tsandbox import derive"]
)
def test_derive_is_callable_whatever_was_imported_first(first: str) -> None:
    """`tsandbox.derive` is a room and a function; both ways to reach it call the function."""
    script = (
        f"{first}\nfrom tsandbox import load, select, Target\ntry: derive(1, 2)\nexcept AttributeError: print('called')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "called\n"


def test_the_room_can_be_called() -> None:
    import tsandbox.derive as room

    spec = room(plan(step("apt_install", packages=["jq"])))  # type: ignore[operator]
    assert isinstance(spec, tsandbox.ContainerSpec)


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tsandbox.nothing  # type: ignore[attr-defined]
