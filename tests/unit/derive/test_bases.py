"""Bases are identified without an engine: by their definition and epoch, or by a pinned digest."""

import re
from pathlib import Path

import pytest

from tsandbox.derive import bases
from tsandbox.errors import NotSupported, UsageError
from tsandbox.recipe.target import ARCHES


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSANDBOX_STATE_DIR", str(tmp_path))
    for name in ("TSANDBOX_EPOCH", "TSANDBOX_SUITE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", bases.MADE_HERE)
def test_a_base_that_is_made_here_is_named_by_its_digest(name: str, arch: str) -> None:
    base = bases.base(name, arch)
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", base.digest)
    assert base.image == f"localhost/tsandbox-base:{name}-{base.digest.removeprefix('sha256:')[:32]}"


def test_bases_differ_by_name_architecture_and_suite() -> None:
    made = {bases.base(name, arch, suite) for name in bases.MADE_HERE for arch in ARCHES for suite in bases.suites()}
    assert len({base.digest for base in made}) == len(bases.MADE_HERE) * len(ARCHES) * len(bases.suites())


@pytest.mark.parametrize("family", bases.families())
def test_other_families_are_pinned_by_digest_and_not_by_tag(family: str) -> None:
    assert re.fullmatch(r"docker\.io/[a-z/]+@sha256:[0-9a-f]{64}", bases.base(family, "amd64").image)


def test_unknown_bases_suites_and_architectures_are_not_supported() -> None:
    for arguments in (("windows", "amd64"), ("runtime", "riscv64"), ("runtime", "amd64", "sarge"), ("arch", "arm64")):
        with pytest.raises(NotSupported) as refused:
            bases.base(*arguments)
        assert refused.value.hint


def test_the_suite_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSANDBOX_SUITE", "trixie")
    assert bases.base("runtime", "amd64") == bases.base("runtime", "amd64", "trixie")
    assert bases.definition("builder", "amd64").security == "trixie-security"
    monkeypatch.setenv("TSANDBOX_SUITE", "sarge")
    with pytest.raises(NotSupported, match="sarge") as refused:
        bases.base("runtime", "amd64")
    assert "TSANDBOX_SUITE" in str(refused.value.hint)


def test_a_refresh_moves_the_epoch_and_every_digest() -> None:
    before = bases.base("builder", "amd64")
    bases.epoch_file().write_text('epoch = "2031-02-03T04:05:06Z"\n')
    assert bases.epoch() == "2031-02-03T04:05:06Z"
    assert bases.base("builder", "amd64").digest != before.digest


def test_the_environment_decides_over_a_refresh(monkeypatch: pytest.MonkeyPatch) -> None:
    bases.epoch_file().write_text('epoch = "2031-02-03"\n')
    monkeypatch.setenv("TSANDBOX_EPOCH", "2032-01-01")
    assert bases.epoch() == "2032-01-01"


def test_a_state_directory_that_cannot_be_is_one_without_a_refresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TSANDBOX_STATE_DIR", str(tmp_path / "file" / "state"))
    assert bases.epoch()


@pytest.mark.parametrize("text", ["epoch = 'soon'", "not toml", "other = 1"])
def test_a_damaged_epoch_is_told(text: str) -> None:
    bases.epoch_file().write_text(text)
    with pytest.raises(UsageError, match="epoch"):
        bases.epoch()
