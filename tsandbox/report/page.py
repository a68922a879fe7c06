"""The HTML report: one file that needs no network, with style sheet, scripts and data inside."""

import base64
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import msgspec
from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from tsandbox.printable import printable
from tsandbox.report.compare import compare
from tsandbox.report.embedded import embedded
from tsandbox.report.run import STATES, Report, counts
from tsandbox.report.words import plural

_SCRIPTS = ("model.js", "dom.js", "grid.js", "detail.js", "charts.js", "tables.js", "main.js")
# Inside a script element only these can end it, open a comment, or break a line of JavaScript.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render_html(report: Report) -> str:
    style, script = _read("report.css"), _script()
    counted = {state: counts(report.results).get(state, 0) for state in STATES}
    return _template().render(
        title=printable(report.title),
        ok=report.exit_code == 0,
        verdict=_verdict(report),
        counts={state: count for state, count in counted.items() if count},
        policy=f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'",
        style=Markup(style),  # noqa: S704  our own file
        script=Markup(script),  # noqa: S704  our own files
        data=_data(report),
    )


def _verdict(report: Report) -> str:
    bad = sum(result.state not in ("passed", "flaky") for result in report.results)
    if not report.results:
        return "No cell ran"
    if bad or report.missing:
        missing = f", {len(report.missing):,} without a result" if report.missing else ""
        return f"{bad:,} of {plural(len(report.results), 'cell')} did not pass{missing}"
    flaky = sum(result.state == "flaky" for result in report.results)
    only = f", {flaky:,} only after a retry" if flaky else ""
    every = "All " if len(report.results) > 1 else ""
    return f"{every}{plural(len(report.results), 'cell')} passed{only}"


def _data(report: Report) -> Markup:
    data = msgspec.to_builtins(embedded(report, compare(report)))
    text = msgspec.json.encode(_shown(data)).decode()
    for char, escape in _ESCAPES.items():
        text = text.replace(char, escape)
    return Markup(text)  # noqa: S704  nothing is left in it that HTML would read


def _shown(value: Any) -> Any:
    """Every string with control and bidirectional characters made visible."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    return [_shown(item) for item in value] if isinstance(value, list | tuple) else value


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()


@cache
def _script() -> str:
    return '"use strict";\n' + "\n".join(_read(name) for name in _SCRIPTS)


@cache
def _read(name: str) -> str:
    return (files("tsandbox.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(_read),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html")
