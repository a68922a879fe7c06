"""JUnit XML as CI systems show it: a suite per target, a case per cell, exclusions with their reason."""

import re
from collections.abc import Iterable
from xml.etree import ElementTree as ET  # writing only: nothing is parsed here

from tsandbox.printable import printable
from tsandbox.report.result import ErrorRecord, Result
from tsandbox.report.run import Excluded, Report

# What printable() lets pass and XML 1.0 does not.
_NOT_XML = re.compile("[\ufffe\uffff]")


def render_junit(report: Report) -> str:
    root = ET.Element("testsuites", name=_text(report.title))
    suites: dict[str, ET.Element] = {}
    for result in report.results:
        suite = _suite(root, suites, str(result.target or "unknown"))
        _case(suite, result)
    for cell in report.excluded:
        suite = _suite(root, suites, str(cell.target))
        _excluded(suite, cell)
    for missing in report.missing:
        case = _named(_suite(root, suites, str(missing.target)), missing.id, missing.tool)
        ET.SubElement(case, "error", type="Missing", message="planned, but no result says how it went")
    for suite in (*suites.values(), root):
        _totals(suite)
    # The schema of Jenkins knows this count of suites only.
    del root.attrib["skipped"]
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: ET.Element, suites: dict[str, ET.Element], name: str) -> ET.Element:
    if name not in suites:
        suites[name] = ET.SubElement(root, "testsuite", name=_text(name))
    return suites[name]


def _case(suite: ET.Element, result: Result) -> None:
    case = _named(suite, result.cell or result.tool or "?", result.tool or "unknown")
    case.set("time", f"{result.duration_ms / 1000:.3f}")
    if result.source:
        case.set("file", _text(result.source))
    for attempt in result.attempts:
        _failure(case, "flakyError" if result.state == "flaky" else "rerunError", attempt.error)
    tag = {"failed": "failure", "timeout": "failure", "error": "error", "skipped": "error"}.get(result.state)
    if tag:
        _failure(case, tag, result.error)
    _output(case, result)


def _named(suite: ET.Element, cell: str, tool: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", name=_text(cell), classname=_text(f"recipes.{tool}"), time="0")


def _failure(case: ET.Element, tag: str, error: ErrorRecord | None) -> None:
    record = error or ErrorRecord(type="Unknown", message="ended without an error message")
    element = ET.SubElement(case, tag, type=_text(record.type), message=_text(record.message))
    place = f"{record.file}:{record.line}" if record.file and record.line else record.file
    element.text = _lines([place, record.message, record.hint, *record.details])


def _output(case: ET.Element, result: Result) -> None:
    if result.log_tail:
        ET.SubElement(case, "system-out").text = _lines(result.log_tail)
    if result.reproduce and result.state not in ("passed", "flaky"):
        ET.SubElement(case, "system-err").text = _text(f"reproduce: {result.reproduce}")


def _excluded(suite: ET.Element, cell: Excluded) -> None:
    case = _named(suite, cell.id, cell.tool)
    ET.SubElement(case, "skipped", message=_text(f"{cell.kind}: {cell.reason}"))


def _totals(suite: ET.Element) -> None:
    cases = list(suite.iter("testcase"))
    suite.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{sum(float(case.get('time', 0)) for case in cases):.3f}")


def _lines(lines: Iterable[str | None]) -> str:
    return _text("\n".join(line for line in lines if line))


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", printable(text))
