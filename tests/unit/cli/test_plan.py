"""`tsandbox plan`: from a recipe to the plan that others execute."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run


def write(directory: Path, name: str, *dependencies: str, extra: str = "") -> Path:
    path = directory / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'[metadata]\nname = "{name}"\ndependencies = {json.dumps(dependencies)}\n{extra}\n'
        '[[steps]]\naction = "apt_install"\npackages = ["x"]\n[[steps]]\naction = "apk_install"\npackages = ["y"]\n'
    )
    return path


def test_a_plan_is_sorted_json_for_one_platform(run: Run) -> None:
    ran = run("plan", "jq", "--family", "alpine", "--arch", "aarch64")
    assert ran.json["format_version"] == 5
    assert ran.json["platform"] == {"os": "linux", "arch": "arm64", "linux_family": "alpine"}
    assert json.dumps(ran.json, indent=2, sort_keys=True, ensure_ascii=False) + "\n" == ran.stdout
    assert run("plan", "jq", "--family", "alpine", "--arch", "arm64", "--json").stdout == ran.stdout


def test_what_plan_wrote_gives_the_same_image_as_the_recipe(run: Run, tmp_path: Path) -> None:
    for name in ("docker-ce", "dev-kit", "hello"):
        path = tmp_path / f"{name}.json"
        path.write_text(run("plan", name).stdout)
        from_plan, from_recipe = (run("spec", source, "--format", "json").json for source in (path, name))
        for key in ("source", "notes"):
            from_plan.pop(key)
            from_recipe.pop(key)
        assert from_plan == from_recipe


@pytest.mark.parametrize(
    ("args", "version"), [(["x.toml"], "1"), (["x.toml@2"], "2"), (["x.toml", "--version", "3"], "3"), (["x@4"], "4")]
)
def test_the_version_is_what_was_asked_for_or_pinned(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], version: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "x", extra='[version]\npin = "1"')
    assert run("plan", *args).json["version"] == version


def test_a_version_that_is_none_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    run("plan", write(tmp_path, "x"), "--version", "$(id)", code=2)


def test_dependencies_come_from_the_given_directories_first(run: Run, tmp_path: Path) -> None:
    top = write(tmp_path / "mine", "top", "jq")
    write(tmp_path / "registry", "jq", extra='[version]\npin = "9"')
    assert run("plan", top).json["dependencies"][0]["version"] is None
    assert run("plan", top, "--recipes", tmp_path / "registry").json["dependencies"][0]["version"] == "9"


def test_cycles_and_missing_dependencies_show_the_chain(run: Run, tmp_path: Path) -> None:
    top = write(tmp_path, "top", "mid")
    write(tmp_path, "mid", "top")
    assert "cycle: top → mid → top" in run("plan", top, code=3).stderr
    write(tmp_path, "mid", "gone")
    ran = run("plan", top, code=3)
    assert "no recipe is called 'gone' (needed by top → mid → gone)" in ran.stderr
    assert "--recipes DIR" in ran.stderr
    assert run("plan", top, "--json", code=3).json["error"]["type"] == "MissingDependency"


def test_a_platform_that_the_recipe_rules_out_ends_with_four(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "x", extra='supported_libc = ["glibc"]\nunsupported_reason = "needs glibc"')
    assert "needs glibc" in run("plan", path, "--family", "alpine", code=4).stderr


def test_one_recipe_one_family(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "x")
    write(tmp_path, "y")
    run("plan", tmp_path, code=2)
    run("plan", tmp_path / "x.toml", "--family", "all", code=2)
    assert "did you mean" in run("plan", "jqq", code=3).stderr


def test_a_recipe_from_standard_input(run: Run) -> None:
    text = b'[metadata]\nname = "x"\n[[steps]]\naction = "manual"\ntext = "y"\n'
    made = run("plan", "-", stdin=text).json
    assert (made["tool"], made["steps"][0]["params"]) == ("x", {"text": "y"})


@pytest.mark.parametrize("command", ["plan", "guide"])
def test_a_dependency_that_is_not_supported_there_is_exit_4_as_the_recipe_itself_would_be(
    run: Run, tmp_path: Path, command: str
) -> None:
    write(tmp_path, "inner", extra='supported_arch = ["arm64"]')
    top = write(tmp_path, "top", "inner")
    run(command, top, "--arch", "arm64")
    error = run(command, top, "--arch", "amd64", "--json", code=4).json["error"]
    assert "inner, which top needs, is not supported on linux/debian/amd64: supported_arch = arm64" in error["message"]
    assert error["file"] == str(tmp_path / "inner.toml")
