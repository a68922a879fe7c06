"""The HTML report, opened from a file in a real Chromium and used with mouse and keyboard."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests import sample_results as samples
from tests.integration.report.conftest import Open, Page

on_a_phone = pytest.mark.parametrize("page_of", [True], indirect=True, ids=["phone"])


def test_the_worst_recipes_come_first_with_the_verdict_above_them(page: Page) -> None:
    page.screenshot("light")
    assert page.one("h1").text == "7 of 56 cells did not pass, 1 without a result"
    assert page.rows()[:3] == ["tmux", "curl", "evil"]
    heads = [head.text.split("\n")[0] for head in page.all("#heads [role=columnheader]")]
    assert heads == ["Recipe", "alpine", "arch", "debian", "rhel", "suse"]


def test_hostile_text_is_shown_and_not_obeyed(page: Page) -> None:
    assert "owned" not in page.driver.title
    page.one('[data-id="evil-linux-debian-amd64"]').click()
    assert "</script><script>document.title='owned'" in page.detail.text
    assert "\\e[31mred" in page.detail.text
    assert len(page.all("script")) == 2


def test_a_click_on_a_cell_shows_why_it_failed_and_how_to_see_it_again(page: Page) -> None:
    page.one('[data-id="curl-linux-rhel-amd64"]').click()
    page.screenshot("detail")
    shown = page.detail.text
    for part in (
        "recipes/curl.toml:31 · VerifyFailed",
        "→ [verify] pattern must match",
        "tsandbox matrix run recipes/curl.toml --only curl-linux-rhel-amd64",
        "download_file",
        "$ curl --version\ncurl 7.88.1 (x86_64)",
        "cache hit · 37.6 MB · minimal",
        "memory: this host ignores it",
        "the whole log: logs/curl-linux-rhel-amd64.log",
    ):
        assert part in shown
    assert page.driver.current_url.endswith("#cell=curl-linux-rhel-amd64")
    page.one("#detail button[aria-label=Close]").click()
    assert not page.detail.is_displayed()


def test_a_link_to_a_cell_opens_it(page: Page) -> None:
    page.driver.get(page.driver.current_url + "#cell=git-linux-debian-amd64")
    page.driver.refresh()
    assert "podman stopped answering" in page.detail.text


def test_a_link_to_nothing_is_no_error(page: Page) -> None:
    for link in ("#cell=%E0%A4%A", "#cell=nobody", "#cell=%", "#cell=__proto__"):
        page.js(f"location.hash = '{link}'")
        assert not page.detail.is_displayed()


def test_states_and_search_filter_together_and_can_be_cleared(page: Page) -> None:
    page.chip("failed").click()
    assert page.rows() == ["curl", "evil", "ripgrep"]
    page.one("#search").send_keys("suse")
    assert page.rows() == ["curl"]
    assert page.one("#shown").text == "1 cell of 1 recipe match"
    assert "dim" in str(page.one('[data-id="curl-linux-rhel-amd64"]').get_attribute("class"))
    page.one("#search").send_keys(" nothing-is-called-so")
    assert page.one("#nothing").is_displayed()
    page.one("#clear").click()
    assert page.one("#shown").text == ""
    assert len(page.rows()) > 10
    assert page.chip("failed").get_attribute("aria-pressed") == "false"


def test_search_finds_error_messages(page: Page) -> None:
    page.one("#search").send_keys("libpcre2")
    assert page.rows() == ["ripgrep"]


def test_the_slowest_recipe_can_be_sorted_to_the_top(page: Page) -> None:
    page.one('#sort option[value="slow"]').click()
    assert page.rows()[0] == "llvm"
    page.one('#sort option[value="name"]').click()
    assert page.rows() == sorted(page.rows())


def test_the_keyboard_alone_is_enough(page: Page) -> None:
    page.press("/")
    assert page.driver.switch_to.active_element.get_attribute("id") == "search"
    page.press("curl", Keys.ARROW_DOWN)
    assert page.driver.switch_to.active_element.get_attribute("id") == "grid"
    page.press(Keys.ENTER)
    assert "curl-linux-rhel-amd64" in page.detail.text
    page.press(Keys.ESCAPE)
    assert not page.detail.is_displayed()
    page.press(Keys.ARROW_RIGHT, Keys.ENTER)
    assert "curl-linux-suse-amd64" in page.detail.text
    page.press(Keys.ESCAPE, "n", Keys.ENTER)
    assert "curl-linux-rhel-amd64" in page.detail.text


def test_arrow_keys_move_between_the_parts(page: Page) -> None:
    page.one("#tab-cells").click()
    page.press(Keys.ARROW_RIGHT)
    assert page.one("#tab-durations").get_attribute("aria-selected") == "true"
    assert page.one("#panel-durations .chart").is_displayed()
    slowest = page.one("#panel-durations .slow li")
    assert slowest.text.split()[0] == "llvm-linux-debian-amd64"
    slowest.find_element(By.CSS_SELECTOR, "button").click()
    assert "the time limit of 120 s passed" in page.detail.text


def test_images_show_size_hits_and_their_cells(page: Page) -> None:
    page.one("#tab-images").click()
    page.screenshot("images")
    first = page.one("#panel-images tbody tr")
    assert first.text.split()[:3] == ["sandbox-cache:0d030d030d030d030d030d030d030d03", "47.6", "MB"]
    first.find_element(By.CSS_SELECTOR, "button").click()
    assert page.rows() == ["ripgrep"]


def test_changes_name_what_broke_and_what_was_repaired(page: Page) -> None:
    page.one("#tab-changes").click()
    page.screenshot("changes")
    cards = page.all("#panel-changes .card")
    assert cards[0].text.startswith("Newly failing 7")
    assert "bat-linux-debian-amd64" in cards[1].text


def test_every_cell_that_was_not_run_has_its_reason(page: Page) -> None:
    page.one("#tab-excluded").click()
    rows = [row.text for row in page.all("#panel-excluded tbody tr")]
    assert len(rows) == 11
    assert "no result says how it went" in rows[0]
    assert any("libzstd1" in row and "@maintainers" in row and "2030-01-31" in row for row in rows)


def test_the_theme_follows_the_system_and_the_button_turns_it(page: Page) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    light = page.js(background)
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    assert page.js(background) != light
    page.screenshot("dark")
    page.one("#theme").click()
    assert page.js(background) == light


def test_ten_thousand_cells_keep_few_rows_in_the_document(page_of: Open) -> None:
    page = page_of(samples.large(1000))
    assert page.one("h1").text == "22 of 10,000 cells did not pass"
    assert len(page.all("#rows .row")) < 60
    page.one('#sort option[value="name"]').click()
    page.js("scrollTo(0, document.documentElement.scrollHeight)")
    page.js("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.rows()[-1] == "tool-00999"
    assert len(page.all("#rows .row")) < 60
    page.one("#search").send_keys("tool-00500 alpine arm64")
    assert page.one("#shown").text == "1 cell of 1 recipe match"


@on_a_phone
def test_on_a_phone_nothing_is_wider_than_the_screen(page: Page) -> None:
    page.screenshot("phone")
    assert page.js("return document.documentElement.scrollWidth") == 390
    page.one('[data-id="curl-linux-rhel-amd64"]').click()
    page.screenshot("phone-detail")
    assert page.detail.size["width"] == 390
    page.one("#detail button[aria-label=Close]").click()
    for part in ("durations", "images", "changes", "excluded"):
        page.js(f"document.getElementById('tab-{part}').click()")
        assert page.js("return document.documentElement.scrollWidth") == 390


@on_a_phone
def test_on_a_phone_rows_of_tables_are_lists_that_break_no_name(page: Page) -> None:
    page.js("document.getElementById('tab-excluded').click()")
    page.screenshot("phone-excluded")
    row = page.all("#panel-excluded tbody tr")[1]
    assert "zstd-linux-suse-amd64" in row.text
    assert row.find_element(By.CSS_SELECTOR, "button").size["height"] < 30
    heads = "return [...arguments[0].querySelectorAll('td:not(.none)')].map((each) => each.dataset.head)"
    assert page.driver.execute_script(heads, row) == ["Cell", "Why", "Decided by", "Owner or link", "Until"]
    missing = page.all("#panel-excluded tbody tr")[0]
    assert page.driver.execute_script(heads, missing) == ["Cell", "Why", "Decided by"]
    assert "–" not in missing.text


@on_a_phone
def test_on_a_phone_cells_are_large_enough_to_touch(page: Page) -> None:
    assert all(cell.size["height"] >= 40 for cell in page.all("#rows .cell[data-id]"))
