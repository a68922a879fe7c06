"""Directories deeper than recursion and than a path can be."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tsandbox.runner.trees import clear, walk
from tsandbox.sandbox.container import written

DEEPER_THAN_RECURSION = sys.getrecursionlimit() + 200
# A path may have 4096 bytes, and each level takes two.
DEEPER_THAN_A_PATH = 2100


@pytest.fixture
def top(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "top"
    directory.mkdir()
    yield directory
    # Pytest's own clean-up is recursive.
    clear(directory)


def burrow(top: Path, depth: int) -> None:
    """Directories in each other, a file of one block in the innermost."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    file = os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(file, b"x" * 512)
    os.close(file)
    os.close(here)


def test_walk_finds_the_innermost_file(top: Path) -> None:
    burrow(top, DEEPER_THAN_RECURSION)
    found = [entry.name for _, _, files in walk(top) for entry in files]
    assert found == ["file"]


def test_walk_passes_over_what_the_caller_takes_out_and_follows_no_link(top: Path) -> None:
    (top / "kept/inner").mkdir(parents=True)
    (top / "left/inner").mkdir(parents=True)
    (top / "link").symlink_to(top / "left")
    seen = []
    for directory, folders, others in walk(top):
        folders[:] = [entry for entry in folders if entry.name != "left"]
        seen += [str(Path(directory).relative_to(top)), *(entry.name for entry in others)]
    assert seen == [".", "link", "kept", "kept/inner"]


def test_walk_tells_what_it_cannot_see(top: Path) -> None:
    burrow(top, DEEPER_THAN_A_PATH)
    errors: list[OSError] = []
    assert [entry.name for _, _, files in walk(top, errors.append) for entry in files] == []
    assert [error.strerror for error in errors] == ["File name too long"]


@pytest.mark.parametrize("depth", [0, DEEPER_THAN_RECURSION, DEEPER_THAN_A_PATH])
def test_clear_removes_everything(top: Path, depth: int) -> None:
    burrow(top, depth)
    clear(top)
    assert not top.exists()


def test_clear_opens_what_is_closed_and_leaves_what_links_lead_to(top: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    (top / "closed").mkdir()
    (top / "closed/link").symlink_to(outside)
    (top / "closed/inner").mkdir(mode=0o000)
    (top / "closed").chmod(0)
    clear(top)
    assert not top.exists()
    assert (outside / "file").exists()


def test_clear_of_what_is_not_there(tmp_path: Path) -> None:
    clear(tmp_path / "nothing")


def test_what_a_run_has_written_is_counted_at_any_depth(top: Path) -> None:
    burrow(top, DEEPER_THAN_RECURSION)
    seen = written(top)
    assert seen is not None
    assert 512 <= seen <= 65536


def test_what_a_run_hides_is_known_to_be_hidden(top: Path) -> None:
    burrow(top, DEEPER_THAN_A_PATH)
    assert written(top) is None
