import json

import pytest

from tsandbox.errors import InvalidInput, Problem, VerifyFailed
from tsandbox.report.result import Result, decode, encode, from_error, outcome_object


def test_the_json_holds_every_field_of_the_contract_even_when_empty() -> None:
    written = json.loads(encode(Result(status="passed", exit_code=0)))
    contract = [
        "schema", "status", "stage", "exit_code", "tool", "target", "image", "cached", "install", "verify",
        "duration_ms", "log", "error",
    ]  # fmt: skip
    assert list(written)[: len(contract)] == contract
    assert written["schema"] == 1
    assert written["error"] is None


def test_an_error_becomes_a_result_with_its_exit_code_place_and_hint() -> None:
    error = VerifyFailed("jq said 1.5", hint="change [verify] pattern", file="recipes/jq.toml", line=12)
    result = from_error(error, tool="jq", duration_ms=7)
    assert (result.status, result.stage, result.exit_code, result.tool) == ("failed", "verify", 8, "jq")
    assert result.error
    assert (result.error.type, result.error.file, result.error.line) == (
        "VerifyFailed",
        "recipes/jq.toml",
        12,
    )
    assert decode(encode(result)) == result


def test_a_stage_known_to_the_caller_wins_over_the_error_class() -> None:
    assert from_error(VerifyFailed("x"), stage="install").stage == "install"


def test_all_problems_of_an_invalid_recipe_survive_the_round_trip() -> None:
    problems = [Problem("a.toml", 3, "steps[0]", "bad"), Problem("a.toml", None, "verify", "worse")]
    written = encode(from_error(InvalidInput("a.toml is invalid", problems=problems)))
    assert json.loads(written)["error"]["problems"][0] == {
        "file": "a.toml", "line": 3, "path": "steps[0]", "message": "bad",
    }  # fmt: skip
    result = decode(written)
    assert result.error
    assert [str(problem) for problem in result.error.problems] == [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        (3, "error", "InvalidInput"),
        (8, "failed", "VerifyFailed"),
        (9, "timeout", "TimedOut"),
        (10, "skipped", "Skipped"),
    ],
)
def test_a_command_of_many_ends_with_the_status_and_error_that_its_exit_code_stands_for(
    code: int, status: str, kind: str
) -> None:
    made = outcome_object(code, why="1 of 2 is bad")
    assert (made["exit_code"], made["status"]) == (code, status)
    assert (made["error"].type, made["error"].message) == (kind, "1 of 2 is bad")
    assert outcome_object(why="2 are fine")["error"] is None


def test_an_unknown_exception_is_a_bug_with_exit_code_1() -> None:
    result = from_error(ZeroDivisionError("division by zero"))
    assert (result.status, result.exit_code) == ("error", 1)


def test_what_passed_after_a_retry_counts_as_flaky_not_as_passed() -> None:
    assert Result(status="passed", exit_code=0, flaky=True).state == "flaky"
    assert Result(status="failed", exit_code=8, flaky=True).state == "failed"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"status":"great","exit_code":0}', '{"status":"passed"}'])
def test_what_is_no_result_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"x\.json: not a tsandbox result"):
        decode(text, source="x.json")


def test_a_newer_schema_is_refused() -> None:
    with pytest.raises(InvalidInput, match="schema 99 is newer"):
        decode(encode(Result(status="passed", exit_code=0, schema=99)))
