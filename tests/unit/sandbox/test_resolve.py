"""What a network answers, checked like what a recipe says."""

from pathlib import Path

import pytest

from tests.unit.sandbox.plans import plan_of
from tsandbox.errors import DownloadFailed
from tsandbox.sandbox import github
from tsandbox.sandbox.resolve import resolve

LATEST = '[version]\ngithub_repo = "owner/tool"\n[[steps]]\naction = "chmod"\nfiles = ["{version}"]\n'


def test_the_latest_version_is_written_into_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github, "latest_version", lambda *_: "1.5-rc.1")
    assert resolve(plan_of(tmp_path, LATEST)).version == "1.5-rc.1"


@pytest.mark.parametrize("tag", ["../../x", "1.5;id", "$(id)", "1.5\n", "", "-1"])
def test_a_tag_that_is_no_version_gets_into_no_path_or_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str
) -> None:
    monkeypatch.setattr(github, "latest_version", lambda *_: tag)
    with pytest.raises(DownloadFailed, match=r"tool: the latest version: .* is not a version"):
        resolve(plan_of(tmp_path, LATEST))
