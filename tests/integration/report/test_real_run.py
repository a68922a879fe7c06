"""The report of a run on a real engine, opened and clicked through as its reader would."""

import json
from pathlib import Path

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.integration.conftest import Cli
from tests.integration.matrix.recipes import Workshop
from tests.integration.report.conftest import Open
from tsandbox.engine import Engine


def test_the_report_of_a_real_run_shows_what_failed_and_how_to_see_it_again(
    podman_cli: Cli, podman: Engine, tmp_path: Path, page_of: Open
) -> None:
    workshop = Workshop(tmp_path / "recipes")
    for name in ("alpha", "beta"):
        workshop.recipe(name)
    workshop.recipe("gamma", "two")
    podman_cli("matrix", "run", workshop.directory, "--results", tmp_path / "before")
    recipe = workshop.recipe("beta", expected="never said")
    (workshop.directory / "broken.toml").write_text("[metadata]\nname = 3\n")
    podman_cli("matrix", "run", workshop.directory, "--results", tmp_path / "now", code=None)
    file = tmp_path / "report.html"
    podman_cli("matrix", "report", tmp_path / "now", "--earlier", tmp_path / "before", "--output", file)
    [cell] = (path.stem for path in (tmp_path / "now" / "cells").glob("beta-linux-debian-*"))
    arch = cell.rpartition("-")[2]

    page = page_of(file)
    page.screenshot("real-run")
    assert "did not pass" in page.one("h1").text
    page.one(f'[data-id="{cell}"]').click()
    page.screenshot("real-run-detail")
    shown = page.detail.text
    for part in (
        "VerifyFailed",
        f"{recipe}:",
        f"tsandbox matrix run {recipe}",
        f"--only {cell}",
        "file_write",
        "speak beta 0",
        "cache hit",
    ):
        assert part in shown
    page.press(Keys.ESCAPE)
    assert not page.detail.is_displayed()

    page.chip("failed").click()
    assert page.rows() == ["beta"]
    page.chip("failed").click()
    page.one("#search").send_keys("gamma")
    assert page.rows() == ["gamma"]
    page.one("#search").send_keys(Keys.CONTROL, "a", Keys.NULL, Keys.DELETE)
    assert len(page.rows()) == 4

    page.one(f'[data-id="broken-linux-debian-{arch}"]').click()
    assert "InvalidInput" in page.detail.text
    page.press(Keys.ESCAPE)

    page.one("#tab-changes").click()
    newly = page.one("#panel-changes .card")
    assert newly.text.startswith("Newly failing 1")
    assert cell in newly.text
    page.one("#tab-images").click()
    images = [row.text for row in page.all("#panel-images tbody tr")]
    results = [json.loads(path.read_text()) for path in (tmp_path / "now" / "cells").iterdir()]
    assert len(images) == len({result["image"] for result in results if result["image"]})
    page.one("#tab-durations").click()
    slowest = max(results, key=lambda result: result["duration_ms"])["cell"]
    assert page.one("#panel-durations .slow li").find_element(By.CSS_SELECTOR, "button").text.startswith(slowest)
    workshop.clean(podman)
