"""What decides between a hit, a build and a refusal; no engine is asked."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from tsandbox.build import make_base
from tsandbox.build.ensure import BuildOptions, oldest_useful, refuse_blocked
from tsandbox.build.make_base import environment, epoch_seconds, steps
from tsandbox.build.refresh import move_epoch
from tsandbox.cli.quantities import duration, size
from tsandbox.derive import Blocker, ContainerSpec, bases, derive
from tsandbox.errors import InvalidInput, NoSpace, NotSupported
from tsandbox.plan import Catalog, load, select
from tsandbox.recipe import Recipe, linux


@pytest.mark.parametrize(
    ("options", "expected"),
    [(BuildOptions(), 0.0), (BuildOptions(max_age=60), 940.0), (BuildOptions(no_cache=True, max_age=60), 1000.0)],
)
def test_how_old_an_image_may_be(options: BuildOptions, expected: float) -> None:
    assert oldest_useful(options, 1000.0) == expected


@pytest.fixture
def spec() -> ContainerSpec:
    recipe = load(Catalog([]).names()["jq"])
    assert isinstance(recipe, Recipe)
    return derive(select(recipe, linux("debian"), catalog=Catalog([])), linux("debian"))


@pytest.mark.parametrize(
    ("kind", "error", "code"), [("missing_dependency", InvalidInput, 3), ("not_supported", NotSupported, 4)]
)
def test_a_blocked_spec_is_not_built(kind: str, error: type[Exception], code: int, spec: ContainerSpec) -> None:
    import msgspec

    blocker = Blocker(kind=kind, message="x.toml:3: because", hint="do this", file="x.toml", line=3)  # type: ignore[arg-type]
    with pytest.raises(error, match="because") as raised:
        refuse_blocked(msgspec.structs.replace(spec, blockers=(blocker,)))
    assert raised.value.exit_code == code  # type: ignore[attr-defined]
    assert raised.value.hint == "do this"  # type: ignore[attr-defined]
    refuse_blocked(spec)


def test_moving_the_epoch_moves_every_base() -> None:
    before = bases.base("runtime", "amd64")
    moved = move_epoch()
    assert bases.epoch() == moved
    assert bases.base("runtime", "amd64").digest != before.digest


def test_a_base_is_made_by_two_scripts_that_know_no_mirror() -> None:
    made_from = bases.definition("builder", "amd64", "trixie")
    fetch, make = steps(made_from, "/scripts", "/work")
    assert fetch == ["sh", "/scripts/fetch.sh", "/work", "closure", *made_from.packages]
    assert make == ["sh", "/scripts/builder.sh", "/work"]
    env = environment(made_from)
    assert env["SECURITY"] == "trixie-security"
    assert "MIRROR" not in env
    assert env["SOURCE_DATE_EPOCH"] == str(epoch_seconds(made_from.epoch))


def test_a_base_is_not_begun_where_it_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=30 * 10**6))
    with pytest.raises(NoSpace, match=r"takes 275 MB, and .* has room for 30 MB"):
        make_base._make_here(bases.definition("builder", "amd64"), tmp_path, None)


@pytest.mark.parametrize(("epoch", "seconds"), [("2001-01-01", 978307200), ("2001-01-01T00:00:01Z", 978307201)])
def test_an_epoch_is_a_moment_of_universal_time(epoch: str, seconds: int) -> None:
    assert epoch_seconds(epoch) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5h", 5400), ("7d", 604800), ("2 w", 1209600)]
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize(("text", "count"), [("0", 0), ("5G", 5 * 10**9), ("1.5 MB", 1500000), ("10k", 10000)])
def test_sizes(text: str, count: int) -> None:
    assert size(text) == count


@pytest.mark.parametrize("text", ["", "d", "-1d", "5 y", "1e9", "5GiB!"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(click.BadParameter):
        duration(text)
    with pytest.raises(click.BadParameter):
        size(text)
