"""`tsandbox validate`: all findings of all files, for people, programs and code hosts."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.unit.cli.conftest import Run
from tsandbox.recipe.lint import RULES

GOOD = '[metadata]\nname = "good"\n[[steps]]\naction = "manual"\ntext = "x"\n[verify]\ncommand = "x"\n'
WARN = '[metadata]\nname = "warn"\n[[steps]]\naction = "manual"\ntext = "x"\n'
BAD = '[metadata]\nname = "b a d"\n[[steps]]\naction = "apt_install"\npackages = ["a b", "c d"]\n'
SILENT = WARN + '[lint]\nignore = { TS001 = "nothing to run" }\n'
LOST = '[metadata]\nname = "lost"\ndependencies = ["nowhere", "good"]\n' + GOOD.split("\n", 2)[2]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"good": GOOD, "warn": WARN, "bad": BAD, "silent": SILENT, "lost": LOST}.items():
        Path(f"{name}.toml").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("names", "code", "strict"),
    [
        (["good.toml"], 0, 0),
        (["warn.toml"], 0, 3),
        (["silent.toml"], 0, 0),
        (["bad.toml"], 3, 3),
        (["good.toml", "bad.toml", "warn.toml"], 3, 3),
        (["lost.toml"], 0, 3),
        (["jq"], 0, 0),
    ],
)
def test_the_exit_code_tells_errors_and_with_strict_warnings(
    run: Run, files: Path, names: list[str], code: int, strict: int
) -> None:
    run("validate", *names, code=code)
    run("validate", *names, "--strict", code=strict)


def test_text_is_one_line_per_finding_for_people_and_editors(run: Run, files: Path) -> None:
    ran = run("validate", "bad.toml", "warn.toml", "good.toml", code=3)
    assert ran.stdout.splitlines() == [
        f"bad.toml:2: error: metadata.name: 'b a d' is not {_name_rule()} [TS000]",
        "bad.toml:5: error: steps[0].packages[0]: 'a b' is not a package name that apt knows [TS000]",
        "bad.toml:5: error: steps[0].packages[1]: 'c d' is not a package name that apt knows [TS000]",
        "warn.toml:1: warning: verify: no command proves that the installation worked [TS001]",
    ]
    assert ran.stderr.strip() == "3 files, 3 errors, 1 warning"
    assert run("validate", "good.toml", "--quiet").stderr == ""


def _name_rule() -> str:
    return "a name: letters, digits, '.', '_', '+', '-', starting with a letter or digit"


def test_silenced_findings_are_counted_and_shown_when_asked(run: Run, files: Path) -> None:
    ran = run("validate", "silent.toml")
    assert ran.stdout == ""
    assert "1 silenced" in ran.stderr
    assert "(silenced: nothing to run)" in run("validate", "silent.toml", "--verbose").stderr


def test_a_directory_holds_recipes_and_plans(run: Run, files: Path) -> None:
    (files / "sub").mkdir()
    (files / "sub" / "p.json").write_text('{"format_version": 9}')
    found = run("validate", ".", "--json", code=3).json
    assert [file["file"] for file in found["files"]] == [
        "bad.toml", "good.toml", "lost.toml", "silent.toml", "warn.toml", "sub/p.json",
    ]  # fmt: skip
    assert found["files"][-1]["kind"] == "plan"
    assert "format_version 9 is newer" in found["files"][-1]["findings"][0]["message"]


def test_json_is_one_object_with_the_keys_of_every_outcome(run: Run, files: Path) -> None:
    for option in (["--json"], ["--format", "json"]):
        found = run("validate", "lost.toml", "silent.toml", "bad.toml", *option, code=3).json
        assert (found["schema"], found["status"], found["stage"], found["exit_code"]) == (1, "error", "load", 3)
        assert found["counts"] == {"files": 3, "errors": 3, "warnings": 1, "silenced": 1}
        assert found["error"]["type"] == "InvalidInput"
        assert (found["error"]["file"], found["error"]["line"]) == ("bad.toml", 2)
        lost, silent, bad = found["files"]
        assert (lost["tool"], lost["kind"], lost["missing_dependencies"]) == ("lost", "recipe", ["nowhere"])
        assert silent["findings"][0]["silenced"] == "nothing to run"
        assert [(each["rule"], each["severity"], each["line"]) for each in bad["findings"]] == [
            ("TS000", "error", 2), ("TS000", "error", 5), ("TS000", "error", 5),
        ]  # fmt: skip
    passed = run("validate", "good.toml", "--json").json
    assert (passed["status"], passed["exit_code"], passed["error"]) == ("passed", 0, None)


def test_dependencies_are_looked_up_where_the_user_says(run: Run, files: Path, tmp_path: Path) -> None:
    registry = tmp_path / "registry"
    registry.mkdir()
    (registry / "any.toml").write_text(GOOD.replace("good", "nowhere"))
    assert run("validate", "lost.toml", "--recipes", registry, "--strict").stdout == ""
    run("validate", "lost.toml", "--recipes", "no-such-directory", code=2)


def test_what_leads_nowhere_stops_nothing_else(run: Run, files: Path) -> None:
    (files / "empty").mkdir()
    ran = run("validate", "nope.toml", "no-such-recipe", "empty", "warn.toml", code=3)
    assert [line.split(" ")[0] for line in ran.stdout.splitlines()] == [
        "nope.toml:",
        "no-such-recipe:",
        "empty:",
        "warn.toml:1:",
    ]


def test_standard_input(run: Run) -> None:
    assert run("validate", "-", stdin=WARN.encode()).stdout.startswith("-:1: warning: verify")
    assert run("validate", "-", stdin=b"{}", code=3).stdout.startswith("-: error: format_version is missing")


def test_escape_sequences_never_reach_the_terminal_raw(run: Run, files: Path) -> None:
    (files / "\x1b[31mevil.toml").write_text(BAD.replace("a b", "\\u001b]0;x\\u0007").replace("b a d", "\\u009b"))
    (files / "wicked.toml").write_text(WARN + '"\\u001b[2J" = 1\n[lint.ignore]\n"\\u202eTS1" = "\\u001b"\n')
    for options in ([], ["--verbose"], ["--format", "sarif"], ["--strict"]):
        ran = run("validate", ".", *options, code=3)
        assert not {"\x1b", "\x9b", "\u202e", "\x07"} & set(ran.stdout + ran.stderr)


def sarif(run: Run, *args: object, code: int = 0) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(run("validate", *args, "--format", "sarif", code=code).stdout)
    Draft202012Validator(SARIF).validate(log)
    return log


def test_sarif_names_every_rule_and_points_to_the_line(run: Run, files: Path) -> None:
    [log] = sarif(run, "bad.toml", "silent.toml", code=3)["runs"]
    assert [rule["id"] for rule in log["tool"]["driver"]["rules"]] == list(RULES)
    first, *_, last = log["results"]
    assert (first["ruleId"], first["level"]) == ("TS000", "error")
    place = first["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("bad.toml", 2)
    assert last["suppressions"] == [{"kind": "inSource", "justification": "nothing to run"}]


def test_sarif_without_findings_is_an_empty_run(run: Run, files: Path) -> None:
    [log] = sarif(run, "good.toml")["runs"]
    assert log["results"] == []


def test_sarif_of_standard_input_has_no_place(run: Run) -> None:
    ran = run("validate", "-", "--format", "sarif", stdin=WARN.encode())
    assert "locations" not in json.loads(ran.stdout)["runs"][0]["results"][0]


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TEXT = {"type": "string", "minLength": 1}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = closed(["text"], text=TEXT)
# The part of SARIF 2.1.0 that we write, closed: a key that the standard does not have would be refused.
SARIF = closed(
    ["version", "runs"],
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs={
        "type": "array",
        "items": closed(
            ["tool"],
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            tool=closed(
                ["driver"],
                driver=closed(
                    ["name"],
                    name=TEXT,
                    version=TEXT,
                    rules={
                        "type": "array",
                        "uniqueItems": True,
                        "items": closed(
                            ["id"],
                            id=TEXT,
                            shortDescription=MESSAGE,
                            help=MESSAGE,
                            defaultConfiguration=closed([], level=LEVEL),
                        ),
                    },
                ),
            ),
            results={
                "type": "array",
                "items": closed(
                    ["message"],
                    ruleId=TEXT,
                    ruleIndex={"type": "integer", "minimum": -1},
                    level=LEVEL,
                    message=MESSAGE,
                    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
                    suppressions={
                        "type": "array",
                        "items": closed(
                            ["kind"], kind={"enum": ["inSource", "external"]}, justification={"type": "string"}
                        ),
                    },
                    locations={
                        "type": "array",
                        "items": closed(
                            [],
                            physicalLocation=closed(
                                ["artifactLocation"],
                                artifactLocation=closed(
                                    ["uri"], uri={"type": "string", "pattern": "^[^ \\\\]+$"}, uriBaseId=TEXT
                                ),
                                region=closed([], startLine={"type": "integer", "minimum": 1}),
                            ),
                        ),
                    },
                ),
            },
        ),
    },
)
