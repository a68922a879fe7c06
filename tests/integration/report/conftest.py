"""A real Chromium: pages are opened from files and used with mouse and keyboard."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests import sample_results as samples
from tsandbox.report import Report, render

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-prefers-reduced-motion",
    "--window-size=1360,900",
)  # fmt: skip
PHONE = {"deviceMetrics": {"width": 390, "height": 844, "pixelRatio": 1.0, "mobile": True, "touch": True}}

Open = Callable[[Report | Path], "Page"]


class Page:
    """What a reader sees and does."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def all(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def js(self, code: str) -> Any:
        return self.driver.execute_script(code)

    def press(self, *keys: str) -> None:
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def rows(self) -> list[str]:
        return [row.text.split()[0] for row in self.all("#rows .row")]

    def chip(self, value: str) -> WebElement:
        return self.one(f'.chip[data-value="{value}"]')

    @property
    def detail(self) -> WebElement:
        return self.one("#detail")

    def screenshot(self, name: str) -> None:
        if folder := os.environ.get("TSANDBOX_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))


def _start(profile: Path, phone: bool) -> webdriver.Chrome:
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not chromedriver:
        pytest.skip("no chromium and chromedriver: install Debian's chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    if phone:
        options.add_experimental_option("mobileEmulation", PHONE)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=chromedriver))


@pytest.fixture(scope="session")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[bool], webdriver.Chrome]]:
    """One browser per kind for all tests: starting one takes longer than most tests."""
    started: dict[bool, webdriver.Chrome] = {}

    def browser(phone: bool) -> webdriver.Chrome:
        if phone not in started:
            started[phone] = _start(tmp_path_factory.mktemp("profile"), phone)
        return started[phone]

    try:
        yield browser
    finally:
        for driver in started.values():
            driver.quit()


@pytest.fixture(params=[False], ids=["desktop"])
def page_of(
    request: pytest.FixtureRequest, browsers: Callable[[bool], webdriver.Chrome], tmp_path: Path
) -> Iterator[Open]:
    """Opens a report; the test fails if the page logged anything to the console or asked for anything but itself."""
    driver = browsers(request.param)

    def open_page(report: Report | Path) -> Page:
        path = report if isinstance(report, Path) else tmp_path / "report.html"
        if isinstance(report, Report):
            path.write_text(render(report, "html"), encoding="utf-8")
        driver.get(path.as_uri())
        return Page(driver)

    try:
        yield open_page
        assert driver.get_log("browser") == []
        fetched = driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        assert fetched == []
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        driver.get("about:blank")
        driver.get_log("browser")


@pytest.fixture
def page(page_of: Open) -> Page:
    return page_of(samples.report())
