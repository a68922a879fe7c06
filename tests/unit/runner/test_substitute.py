import pytest

from tsandbox.runner.failures import StepFailed
from tsandbox.runner.substitute import substitute

VARIABLES = {"version": "1.2", "os": "linux", "deps.openssl.version": "3.0", "install_dir": "/opt/{version}"}


def test_fills_strings_lists_and_tables() -> None:
    value = {"url": "x-{version}-{os}.tgz", "files": ["{version}"], "more": {"rpath": "o-{deps.openssl.version}"}}
    assert substitute(value, VARIABLES) == {
        "url": "x-1.2-linux.tgz",
        "files": ["1.2"],
        "more": {"rpath": "o-3.0"},
    }


def test_a_value_is_never_read_as_a_template_again() -> None:
    assert substitute("{install_dir}/{version}", VARIABLES) == "/opt/{version}/1.2"


@pytest.mark.parametrize("text", ["${version}", "${HOME}", "{print $1}", '{"a": 1}', "{}", "{ version }", "$ORIGIN"])
def test_what_is_the_shells_or_no_placeholder_stays(text: str) -> None:
    assert substitute(text, VARIABLES) == text


def test_an_unknown_placeholder_is_an_error_that_names_it() -> None:
    with pytest.raises(StepFailed, match=r"unknown placeholder \{vresion\} in 'url'") as caught:
        substitute({"url": "{vresion}"}, VARIABLES)
    assert caught.value.finding.kind == "unknown_placeholder"
    assert caught.value.finding.data == {"placeholder": "vresion", "param": "url"}


def test_a_command_may_hold_braces_of_its_own() -> None:
    assert substitute({"command": "awk {print} {version}"}, VARIABLES) == {"command": "awk {print} 1.2"}


def test_a_variable_without_value_says_that_the_plan_is_not_resolved() -> None:
    with pytest.raises(StepFailed, match="not resolved"):
        substitute({"command": "x {version}"}, {"version": None})


def test_other_values_pass_unchanged() -> None:
    assert substitute({"strip_dirs": 1, "flag": True, "none": None}, VARIABLES) == {
        "strip_dirs": 1,
        "flag": True,
        "none": None,
    }
