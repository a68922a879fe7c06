from pathlib import Path

import pytest

from tests.unit.sandbox.plans import DEBIAN, plan_of
from tsandbox.derive import derive
from tsandbox.sandbox.options import DISK, amount, limits_of, written_as
from tsandbox.sandbox.outcome import Limits

STEP = '[[steps]]\naction = "require_command"\ncommand = "sh"\n'


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("10b", 10), ("1k", 1024), ("512m", 512 << 20), ("2g", 2 << 30), ("2GiB", 2 << 30), ("3Mb", 3 << 20)],
)
def test_amounts(text: str, count: int) -> None:
    assert amount(text) == count


@pytest.mark.parametrize("text", ["", "g", "1.5g", "-1", "1t", "1 g x"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(ValueError, match="no amount"):
        amount(text)


@pytest.mark.parametrize(
    ("count", "text"), [(2 << 30, "2g"), (512 << 20, "512m"), (1536 << 20, "1536m"), (1000, "1000")]
)
def test_amounts_are_shown_as_they_are_written(count: int, text: str) -> None:
    assert written_as(count) == text


def test_the_users_limits_replace_the_recipes_and_the_recipes_the_defaults(tmp_path: Path) -> None:
    recipe = STEP + '[sandbox]\nlimits = { memory = "1g", timeout = 7 }\n'
    spec = derive(plan_of(tmp_path, recipe), DEBIAN)
    assert limits_of(spec, Limits(timeout=3.5, pids=9)) == Limits(
        memory=1 << 30, cpus=2, pids=9, timeout=3.5, disk=DISK
    )


def test_the_recipes_disk_replaces_ours_and_the_users_replaces_both(tmp_path: Path) -> None:
    spec = derive(plan_of(tmp_path, STEP + '[sandbox]\nlimits = { disk = "20g" }\n'), DEBIAN)
    assert limits_of(spec, Limits()).disk == 20 << 30
    assert limits_of(spec, Limits(disk=5 << 20)).disk == 5 << 20
