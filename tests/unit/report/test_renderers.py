import json
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from tests import sample_results as samples
from tsandbox.report import Format, Report, render
from tsandbox.report.compare import compare
from tsandbox.report.run import Earlier, counts

FORMATS: tuple[Format, ...] = ("text", "json", "junit", "sarif", "markdown", "html")


@pytest.fixture(scope="module")
def report() -> Report:
    return samples.report()


def test_flaky_is_counted_apart_from_passed(report: Report) -> None:
    assert counts(report.results) == {
        "failed": 4, "error": 1, "timeout": 1, "skipped": 1, "flaky": 1, "passed": 48,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (Report(results=(samples.passed(),)), 0),
        (Report(results=(samples.passed(), samples.flaky())), 0),
        (Report(results=(samples.passed(), samples.verify_failed())), 8),
        (Report(results=(samples.verify_failed(), samples.install_failed(), samples.verify_failed("bat"))), 8),
        (Report(results=(samples.ended("skipped", "zig", "suse"),)), 10),
        (Report(results=()), 10),
        (Report(results=(samples.passed(),), missing=samples.report().missing), 10),
    ],
)
def test_the_exit_code_is_zero_only_if_all_planned_cells_passed(report: Report, code: int) -> None:
    assert report.exit_code == code


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_lets_a_control_character_or_a_script_through(report: Report, form: Format) -> None:
    written = render(report, form)
    assert "evil-linux-debian-amd64" in written
    # JSON output is for programs, which get the text as it was, in JSON's own escapes.
    unsafe = {"\x1b"} if form == "json" else {"\x1b", "\u202e"}
    assert not unsafe & set(written)
    if form == "html":
        assert "<script>document.title" not in written


def test_markdown_shows_hostile_text_only_escaped_or_inside_a_code_block(report: Report) -> None:
    fenced = False
    for line in render(report, "markdown").splitlines():
        fenced ^= line.startswith("```")
        assert fenced or "<script>" not in line


@pytest.mark.parametrize("form", FORMATS)
def test_a_run_without_cells_is_still_a_report_and_says_so(form: Format) -> None:
    assert render(Report(results=()), form)


def test_text_says_what_where_and_how_to_see_it_again(report: Report) -> None:
    written = render(report, "text")
    assert "recipes/curl.toml:31: curl --version did not print 8.5.0" in written
    assert "hint: [verify] pattern must match" in written
    assert "reproduce: tsandbox matrix run recipes/curl.toml --only curl-linux-rhel-amd64" in written
    assert "FLAKY    git-linux-debian-amd64: passed after 1 failed attempt" in written
    assert "MISSING  tmux-linux-suse-amd64" in written
    assert (
        "EXCLUDED zstd-linux-suse-amd64: the mirror lacks libzstd1 since March (@maintainers, until 2030-01-31)"
        in written
    )
    assert "56 cells: 4 failed, 1 error, 1 timeout, 1 skipped, 1 flaky, 48 passed, 10 excluded, 1 missing" in written


def test_junit_has_a_case_for_every_cell_and_totals_that_agree(report: Report) -> None:
    root = ET.fromstring(render(report, "junit"))
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert len(cases) == len(report.results) + len(report.excluded) + len(report.missing)
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("67", "5", "3")
    assert sum(int(suite.get("skipped", 0)) for suite in root) == 10
    assert cases["curl-linux-rhel-amd64"].find("failure[@type='VerifyFailed']") is not None
    assert cases["tmux-linux-suse-amd64"].find("error[@type='Missing']") is not None
    assert cases["git-linux-debian-amd64"].find("flakyError") is not None
    assert cases["git-linux-debian-amd64"].find("failure") is None
    assert cases["bat-linux-arch-amd64"].get("classname") == "recipes.bat"
    assert cases["curl-linux-rhel-amd64"].findtext("system-out", "").endswith("curl 7.88.1 (x86_64)")


def test_sarif_points_to_the_recipe_line_once_for_all_cells_with_the_same_cause(report: Report) -> None:
    run = json.loads(render(report, "sarif"))["runs"][0]
    curl = [result for result in run["results"] if "curl --version" in result["message"]["text"]]
    assert len(curl) == 1
    assert curl[0]["ruleId"] == "VerifyFailed"
    assert "[curl-linux-rhel-amd64, curl-linux-suse-amd64]" in curl[0]["message"]["text"]
    place = curl[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "recipes/curl.toml", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 31}
    levels = {result["ruleId"]: result["level"] for result in run["results"]}
    assert levels["Flaky"] == "warning"
    assert levels["Missing"] == "error"
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    assert all(result["locations"] for result in run["results"])


def test_markdown_says_how_many_failures_it_leaves_out_and_stays_small() -> None:
    bad = tuple(replace(samples.hostile(f"t{number}"), log_tail=("`" * 9 + "x" * 90,) * 90) for number in range(700))
    written = render(Report(results=bad), "markdown")
    assert "500 more bad cells are not shown here" in written
    assert len(written.encode()) < 1_000_000


def test_markdown_text_is_shown_as_it_is_written() -> None:
    reason = "a | b `c` <b> &lt; @all ~~d~~"
    cell = replace(samples.report().excluded[0], reason=reason)
    written = render(Report(results=(samples.passed(),), excluded=(cell,)), "markdown")
    assert r"a \| b \`c\` \<b\> \&lt; \@all \~\~d\~\~" in written


def test_what_passed_only_after_a_retry_is_in_the_verdict_of_the_page() -> None:
    assert "<h1>All 2 cells passed, 1 only after a retry</h1>" in render(
        Report(results=(samples.passed(), samples.flaky())), "html"
    )
    assert "<h1>1 cell passed</h1>" in render(Report(results=(samples.passed(),)), "html")


def test_markdown_fences_cannot_be_closed_from_inside() -> None:
    bad = replace(samples.install_failed(), log_tail=("```", "# owned"))
    written = render(Report(results=(bad,)), "markdown")
    assert "````text" in written


def test_json_holds_all_results_and_the_comparison(report: Report) -> None:
    whole = json.loads(render(report, "json"))
    assert len(whole["results"]) == 56
    assert whole["exit_code"] == report.exit_code
    assert "bat-linux-debian-amd64" in whole["comparison"]["fixed"]


def test_comparison_needs_a_factor_and_a_difference_before_it_says_slower() -> None:
    now = [
        samples.passed("a", ms=900),
        samples.passed("b", ms=9000),
        samples.passed("c", ms=3900),
        samples.verify_failed("d"),
    ]
    earlier = {
        "a-linux-debian-amd64": Earlier(state="passed", duration_ms=300, cached=True),  # three times, but 0.6 s
        "b-linux-debian-amd64": Earlier(state="passed", duration_ms=8000, cached=False),  # one second, but 12 %
        "c-linux-debian-amd64": Earlier(state="passed", duration_ms=1000, cached=True),
        "d-linux-rhel-amd64": Earlier(state="flaky", duration_ms=1000),
        "gone-linux-rhel-amd64": Earlier(state="passed", duration_ms=1000),
    }
    found = compare(Report(results=tuple(now), earlier=earlier))
    assert found
    assert found.slower == ("c-linux-debian-amd64",)
    assert found.newly_failing == ("d-linux-rhel-amd64",)
    assert found.removed == ("gone-linux-rhel-amd64",)


def test_a_build_is_not_compared_with_a_cache_hit() -> None:
    now = samples.passed("c", ms=30_000)
    earlier = {"c-linux-debian-amd64": Earlier(state="passed", duration_ms=1000, cached=True)}
    found = compare(Report(results=(now,), earlier=earlier))
    assert found
    assert found.slower == ()
