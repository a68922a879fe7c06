"""What came out, in the forms that people, CI systems and other programs read."""

from typing import Literal

from tsandbox.report.result import Result, decode, encode, error_record, from_error
from tsandbox.report.run import Report

Format = Literal["text", "json", "junit", "sarif", "markdown", "html"]

__all__ = ["Format", "Report", "Result", "decode", "encode", "error_record", "from_error", "render"]


def render(report: Report, form: Format) -> str:
    # Late: `--json` of an install needs the result and none of these.
    match form:
        case "text":
            from tsandbox.report.text import render_text as write
        case "json":
            from tsandbox.report.whole import render_json as write
        case "junit":
            from tsandbox.report.junit import render_junit as write
        case "sarif":
            from tsandbox.report.findings import render_sarif as write
        case "markdown":
            from tsandbox.report.markdown import render_markdown as write
        case "html":
            from tsandbox.report.page import render_html as write
    return write(report)
