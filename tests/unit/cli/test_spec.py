"""`tsandbox spec`: formats, several inputs, and what is wrong with some of them."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run

ROOT = Path(__file__).parents[3]
RECIPES = ROOT / "recipes"
GOOD = '[metadata]\nname = "{name}"\ndescription = "made"\n[[steps]]\naction = "apt_install"\npackages = ["{name}"]\n'
BAD = '[metadata]\nname = "bad"\n[[steps]]\naction = "apt_install"\npackages = ["; rm"]\n'
MAC_PLAN = '{"format_version": 5, "tool": "t", "platform": {"os": "darwin", "arch": "arm64"}, "steps": []}'


def good(directory: Path, name: str) -> Path:
    path = directory / f"{name}.toml"
    path.write_text(GOOD.format(name=name))
    return path


# --- Formats


def test_text_fits_on_one_screen_and_says_what_where_from_and_who_asked(run: Run) -> None:
    text = run("spec", RECIPES / "docker-ce.toml").stdout
    for wanted in (
        "docker-ce-cli",
        "https://download.docker.com/linux/debian bookworm stable",
        "docker-ce.toml:",
        "group docker",
        "2g memory, 2 cpus, 100 pids, 120 s",
        "sandbox-cache:",
    ):
        assert wanted in text
    assert len(text.splitlines()) <= 24


def test_packages_that_one_line_asked_for_stand_together(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "many.toml"
    names = [f"package-{i:03}" for i in range(100)]
    path.write_text(GOOD.format(name="many").replace('["many"]', json.dumps(names)))
    text = run("spec", path).stdout
    assert len(text.splitlines()) <= 40
    assert all(name in text for name in names)
    assert text.count("many.toml:4") == 1


def test_json_is_one_object(run: Run) -> None:
    found = run("spec", "jq", "--format", "json").json
    assert (found["tool"], found["packages"], found["profile"]) == ("jq", {"apt": ["jq"]}, "minimal")


def test_several_specs_as_toml_are_one_document(run: Run) -> None:
    """With repositories and files, whose own tables must not end up in another spec."""
    names = ("docker-ce", "less", "jq")
    printed = run("spec", *names, "--family", "debian,rhel", "--format", "toml").stdout
    lines = run("spec", *names, "--family", "debian,rhel", "--format", "json").stdout.splitlines()
    assert tomllib.loads(printed) == {"spec": [_without_nulls(json.loads(line)) for line in lines]}


def test_a_file_name_adds_no_instruction_to_a_dockerfile(run: Run, tmp_path: Path) -> None:
    path = good(tmp_path, "a\nRUN evil\x1b[2J")
    path.write_text(GOOD.format(name="a"))
    printed = run("spec", path, good(tmp_path, "b"), "--format", "dockerfile").stdout
    assert not [line for line in printed.splitlines() if line.startswith("RUN evil")]
    assert "\x1b" not in printed


def test_json_flag_and_format_json_are_the_same(run: Run) -> None:
    assert run("spec", "jq", "--json").stdout == run("spec", "jq", "--format", "json").stdout


@pytest.mark.parametrize("form", ["text", "toml", "dockerfile"])
def test_json_and_another_format_exclude_each_other(run: Run, form: str) -> None:
    assert f"--format {form}" in run("spec", "jq", "--json", "--format", form, code=2).json["error"]["message"]


def test_toml_says_the_same_as_json_without_nulls(run: Run) -> None:
    as_json = run("spec", RECIPES / "docker-ce.toml", "--format", "json").json
    as_toml = tomllib.loads(run("spec", RECIPES / "docker-ce.toml", "--format", "toml").stdout)
    assert as_toml == {key: _without_nulls(value) for key, value in as_json.items() if value is not None}


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def test_dockerfile_is_the_dockerfile_and_nothing_else(run: Run) -> None:
    shown = run("spec", "jq", "--format", "dockerfile").stdout
    assert shown == run("spec", "jq", "--json").json["dockerfile"]
    assert shown.startswith("FROM ")


def test_terminal_sequences_of_a_recipe_never_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "made.toml"
    path.write_text(
        GOOD.format(name="made")
        + '[[steps]]\naction = "manual"\ntext = "\\u001b[31mred\\u0007\\u202e\\u009b\\u007fé"\n'
    )
    for form in ("text", "dockerfile", "toml", "json"):
        ran = run("spec", path, "--format", form)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", ran.stdout + ran.stderr), form
    note = run("spec", path, "--json").json["notes"][0]
    assert note == "by hand: \x1b[31mred\x07\u202e\x9b\x7fé"
    assert tomllib.loads(run("spec", path, "--format", "toml").stdout)["notes"] == [note]


# --- Several inputs


def test_several_inputs_and_families_print_one_object_per_line(run: Run, tmp_path: Path) -> None:
    first, second = good(tmp_path, "a"), good(tmp_path, "b")
    lines = run("spec", first, second, "--family", "debian,suse", "--family", "rhel", "--json").stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert [(each["tool"], each["target"]["linux_family"]) for each in found] == [
        (tool, family) for tool in ("a", "b") for family in ("debian", "suse", "rhel")
    ]


def test_all_families(run: Run) -> None:
    lines = run("spec", "jq", "--family", "all", "--json").stdout.splitlines()
    assert [json.loads(line)["target"]["linux_family"] for line in lines] == [
        "debian",
        "rhel",
        "arch",
        "alpine",
        "suse",
    ]


def test_a_directory_prints_one_object_per_line_even_for_one_recipe(run: Run, tmp_path: Path) -> None:
    good(tmp_path, "only")
    [line] = run("spec", tmp_path, "--format", "json").stdout.splitlines()
    assert json.loads(line)["tool"] == "only"


def test_directories_are_read_recursively_in_a_stable_order(run: Run, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".hidden").mkdir()
    for directory, name in ((tmp_path / "b", "z"), (tmp_path, "y"), (tmp_path, "x"), (tmp_path / ".hidden", "h")):
        good(directory, name)
    lines = run("spec", tmp_path, "--json").stdout.splitlines()
    assert [json.loads(line)["tool"] for line in lines] == ["x", "y", "z"]


@pytest.mark.parametrize("kind", ["recipe", "plan"])
def test_standard_input(run: Run, tmp_path: Path, kind: str) -> None:
    path = good(tmp_path, "made")
    text = path.read_bytes() if kind == "recipe" else run("plan", path).stdout.encode()
    assert run("spec", "-", "--json", stdin=text).json["packages"] == {"apt": ["made"]}


def test_a_plan_gives_the_spec_of_its_recipe(run: Run, tmp_path: Path) -> None:
    for name in ("jq", "docker-ce", "dev-kit", "hello"):
        path = tmp_path / f"{name}.json"
        path.write_text(run("plan", RECIPES / f"{name}.toml").stdout)
        from_plan, from_recipe = (run("spec", each, "--json").json for each in (path, RECIPES / f"{name}.toml"))
        assert from_plan.pop("source") != from_recipe.pop("source")
        assert from_plan == from_recipe


def test_one_bad_recipe_does_not_stop_the_rest(run: Run, tmp_path: Path) -> None:
    good(tmp_path, "a")
    (tmp_path / "b.toml").write_text(BAD)
    good(tmp_path, "c")
    ran = run("spec", tmp_path, "--format", "json", code=3)
    first, error, last = map(json.loads, ran.stdout.splitlines())
    assert (first["tool"], last["tool"]) == ("a", "c")
    assert (error["status"], error["stage"], error["exit_code"]) == ("error", "load", 3)
    assert (error["error"]["type"], error["error"]["line"]) == ("InvalidInput", 5)
    assert error["source"] == str(tmp_path / "b.toml")
    assert "b.toml:5" in ran.stderr


@pytest.mark.parametrize("form", ["text", "toml", "dockerfile"])
def test_one_bad_recipe_is_told_on_stderr_in_the_other_formats(run: Run, tmp_path: Path, form: str) -> None:
    good(tmp_path, "a")
    (tmp_path / "b.toml").write_text(BAD)
    ran = run("spec", tmp_path, "--format", form, code=3)
    assert "b.toml:5: steps[0].packages[0]" in ran.stderr
    assert "b.toml" not in ran.stdout


def test_an_invalid_recipe_decides_over_an_unsupported_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mac.json").write_text(MAC_PLAN)
    run("spec", tmp_path, code=4)
    (tmp_path / "bad.toml").write_text(BAD)
    run("spec", tmp_path, code=3)


def test_specs_are_printed_as_they_are_done(tmp_path: Path) -> None:
    """The first of many can be read while the last does not even exist."""
    good(tmp_path, "a")
    pipe = tmp_path / "b.toml"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "tsandbox", "spec", tmp_path / "a.toml", pipe, "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert json.loads(process.stdout.readline())["tool"] == "a"
        assert process.poll() is None
        pipe.write_text(GOOD.format(name="b"))
        assert json.loads(process.stdout.readline())["tool"] == "b"
    assert process.returncode == 0


# --- Targets


def test_a_darwin_plan_is_exit_4_with_a_message(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mac.json"
    path.write_text(MAC_PLAN)
    ran = run("spec", path, "--json", code=4)
    assert "the sandbox runs Linux" in ran.json["error"]["message"]
    assert "guide" in ran.json["error"]["hint"]
    assert (ran.json["tool"], ran.json["target"]["os"], ran.json["target"]["arch"]) == ("t", "darwin", "arm64")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ('action = "apt_ppa"\nppa = "ppa:a/b"', "Ubuntu"),
        ('action = "require_system"\npackages = { dnf = ["x"] }', "no packages for apt"),
        ('action = "require_system"\nprimitives = [{ apt = ["x"] }, { zypper = ["x"] }]', "not the package manager"),
        ('action = "require_system"\nprimitives = [{ brew = ["x"] }]', "Homebrew"),
    ],
)
def test_what_debian_cannot_do_is_exit_4_with_the_line(run: Run, tmp_path: Path, step: str, message: str) -> None:
    path = tmp_path / "made.toml"
    path.write_text(f'[metadata]\nname = "made"\n\n[[steps]]\n{step}\n')
    error = run("spec", path, "--json", code=4).json["error"]
    assert message in error["message"]
    assert (error["file"], error["line"]) == (str(path), 4)


def test_the_minimal_profile_elsewhere_is_exit_4(run: Run) -> None:
    run("spec", "jq", "--family", "suse", "--profile", "minimal", code=4)
    assert run("spec", "jq", "--profile", "full", "--json").json["base"]["name"] == "builder"


@pytest.mark.parametrize(("arch", "normal"), [("amd64", "amd64"), ("x86_64", "amd64"), ("aarch64", "arm64")])
def test_architectures(run: Run, arch: str, normal: str) -> None:
    assert run("spec", "jq", "--arch", arch, "--json").json["target"]["arch"] == normal


@pytest.mark.parametrize(
    "arguments",
    [("--family", "gentoo"), ("--arch", "vax"), ("--format", "xml"), ("--profile", "tiny"), ("--unknown",)],
)
def test_wrong_arguments_are_usage_errors(run: Run, arguments: tuple[str, ...]) -> None:
    assert run("spec", "jq", *arguments, "--json", code=2).json["exit_code"] == 2


def test_no_input_is_a_usage_error(run: Run) -> None:
    run("spec", code=2)


# --- Dependencies


def test_missing_dependencies_are_listed_and_the_spec_is_shown(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "made.toml"
    path.write_text(GOOD.format(name="made").replace("[[steps]]", 'dependencies = ["gone"]\n[[steps]]'))
    found = run("spec", path, "--json").json
    assert found["missing_dependencies"] == ["gone"]
    assert found["blockers"][0]["kind"] == "missing_dependency"
    run("plan", path, code=3)


def test_dependencies_come_from_recipes_then_beside_the_input_then_shipped(run: Run, tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    path = own / "made.toml"
    path.write_text(GOOD.format(name="made").replace("[[steps]]", 'dependencies = ["jq"]\n[[steps]]'))

    def packages(*arguments: object) -> list[str]:
        found: list[str] = run("spec", path, *arguments, "--json").json["packages"]["apt"]
        return found

    assert packages() == ["jq", "made"]
    (own / "x.toml").write_text(GOOD.format(name="jq").replace('["jq"]', '["jq-beside"]'))
    assert packages() == ["jq-beside", "made"]
    (other / "y.toml").write_text(GOOD.format(name="jq").replace('["jq"]', '["jq-other"]'))
    assert packages("--recipes", other) == ["jq-other", "made"]


def test_a_name_that_is_nearly_a_recipes_gets_a_hint(run: Run) -> None:
    assert "did you mean 'nginx'" in run("spec", "ngnix", code=3).stderr


def test_the_version_after_an_at_sign(run: Run) -> None:
    assert run("spec", "jq@1.6", "--json").json["version"] == "1.6"


# --- The corpus

CORPUS = Path(os.environ.get("TSANDBOX_CORPUS") or ROOT.parent / "shared/corpus")


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of other people's recipes is not here (TSANDBOX_CORPUS)")
def test_the_corpus_derives_for_every_family(run: Run) -> None:
    lines = run("spec", CORPUS / "recipes", "--family", "all", "--arch", "amd64", "--json").stdout.splitlines()
    assert len(lines) == 5 * len(list((CORPUS / "recipes").rglob("*.toml")))


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of other people's recipes is not here (TSANDBOX_CORPUS)")
def test_the_plans_of_the_corpus_derive_and_those_for_darwin_do_not(run: Run) -> None:
    for path in sorted((CORPUS / "plans").rglob("*.json")):
        is_mac = json.loads(path.read_text())["platform"]["os"] == "darwin"
        run("spec", path, code=4 if is_mac else 0)


def test_an_error_names_tool_and_target_where_they_are_known(run: Run, tmp_path: Path) -> None:
    found = run("spec", good(tmp_path, "a"), "--family", "rhel", "--profile", "minimal", "--json", code=4).json
    assert (found["tool"], found["target"]["linux_family"]) == ("a", "rhel")
    (tmp_path / "b.toml").write_text(BAD)
    found = run("spec", tmp_path / "b.toml", "--json", code=3).json
    assert (found["tool"], found["target"]) == (None, None)


def test_a_limit_of_the_disk_is_shown_where_the_recipe_sets_one_and_makes_no_other_image(
    run: Run, tmp_path: Path
) -> None:
    path = good(tmp_path, "a")
    without = run("spec", path, "--json").json
    assert list(without["limits"]) == ["memory", "cpus", "pids", "timeout"]
    path.write_text(path.read_text() + '\n[sandbox]\nlimits = { disk = "20g" }\n')
    found = run("spec", path, "--json").json
    assert found["limits"] == without["limits"] | {"disk": "20g"}
    assert found["key"] == without["key"]
    assert "20g disk" in run("spec", path).stdout
    path.write_text(path.read_text().replace("20g", "1k"))
    assert "sandbox.limits.disk: must be between 1m" in run("spec", path, code=3).stderr


def test_a_name_that_leads_nowhere_stops_no_other_input(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = run("spec", "no-such-recipe", tmp_path / "empty", "jq", "--format", "json", code=3)
    lost, empty, found = map(json.loads, ran.stdout.splitlines())
    assert "no-such-recipe: no such file" in lost["error"]["message"]
    assert "the directory holds no" in empty["error"]["message"]
    assert found["tool"] == "jq"


def test_nothing_can_be_kept_and_all_is_shown(tmp_path: Path) -> None:
    """Neither the state nor the cache directory can be made: below a file there are none."""
    (tmp_path / "file").touch()
    places = {f"TSANDBOX_{name}_DIR": str(tmp_path / "file" / name) for name in ("STATE", "CACHE")}
    command = [sys.executable, "-m", "tsandbox", "spec", str(good(tmp_path, "jq")), "--format", "dockerfile"]
    done = subprocess.run(command, env={**os.environ, **places}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("FROM ")
