"""SARIF 2.1.0: findings that point to recipe lines, as code hosts show them beside the code."""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from msgspec import Struct

from tsandbox.printable import printable

SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0.json"

Level = Literal["error", "warning", "note"]


class Rule(Struct, frozen=True, kw_only=True):
    id: str
    summary: str
    help: str | None = None
    level: Level = "error"


class Finding(Struct, frozen=True, kw_only=True):
    rule: str
    message: str
    file: str | None = None
    line: int | None = None
    level: Level | None = None
    # Why the file itself silences the finding; code hosts then show it as settled.
    silenced: str | None = None


def sarif(rules: Iterable[Rule], findings: Iterable[Finding], *, version: str) -> str:
    """One log with one run; every finding must name one of the rules."""
    ordered = sorted(rules, key=lambda rule: rule.id)
    index = {rule.id: (number, rule) for number, rule in enumerate(ordered)}
    log = {
        "$schema": SCHEMA_URI,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(ordered, version)},
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, *index[finding.rule]) for finding in findings],
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _driver(rules: Sequence[Rule], version: str) -> dict[str, Any]:
    return {
        "name": "tsandbox",
        "version": version,
        "rules": [_rule(rule) for rule in rules],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    written: dict[str, Any] = {
        "id": rule.id,
        "shortDescription": {"text": printable(rule.summary)},
        "defaultConfiguration": {"level": rule.level},
    }
    return written | ({"help": {"text": printable(rule.help)}} if rule.help else {})


def _result(finding: Finding, number: int, rule: Rule) -> dict[str, Any]:
    written: dict[str, Any] = {
        "ruleId": rule.id,
        "ruleIndex": number,
        "level": finding.level or rule.level,
        "message": {"text": printable(finding.message) or rule.summary},
        # Without the line: a finding that only moved stays the same finding.
        "partialFingerprints": {"tsandbox/v1": _fingerprint(finding)},
    }
    if finding.silenced is not None:
        written["suppressions"] = [{"kind": "inSource", "justification": printable(finding.silenced)}]
    return written | ({"locations": [_location(finding)]} if finding.file else {})


def _fingerprint(finding: Finding) -> str:
    return sha256("\0".join((finding.rule, finding.file or "", finding.message)).encode()).hexdigest()[:32]


def _location(finding: Finding) -> dict[str, Any]:
    assert finding.file
    place: dict[str, Any] = {"artifactLocation": _artifact(Path(finding.file))}
    if finding.line:
        place["region"] = {"startLine": finding.line}
    return {"physicalLocation": place}


def _artifact(path: Path) -> dict[str, str]:
    """Relative to the checkout wherever possible: code hosts match the paths of their own tree."""
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(path.as_posix()), "uriBaseId": "%SRCROOT%"}
