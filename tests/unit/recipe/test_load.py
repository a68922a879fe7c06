"""Loading recipes: every fault at once, each with its line, and what the contract says about single fields."""

import re
from collections.abc import Iterator
from copy import deepcopy
from datetime import date, time
from math import nan
from typing import Any

import pytest

from tsandbox.errors import InvalidInput
from tsandbox.recipe import Recipe, grammar, load_recipe
from tsandbox.recipe.actions import AptRepo, Carried, DnfRepo, GroupAdd, RequireCommand, RequireSystem
from tsandbox.recipe.lines import Lines
from tsandbox.recipe.load import read_recipe

HEAD = '[metadata]\nname = "x"\n'
STEP = '[[steps]]\naction = "apt_install"\npackages = ["jq"]\n'


def problems(text: str) -> list[str]:
    """Every problem of a text that does not load, as people see it."""
    with pytest.raises(InvalidInput) as caught:
        load_recipe(text, "f.toml")
    assert caught.value.exit_code == 3
    return [str(problem) for problem in caught.value.problems]


def only_problem(text: str) -> str:
    [found] = problems(text)
    return found


def step(text: str) -> Recipe:
    return load_recipe(f"{HEAD}[[steps]]\n{text}\n")


def test_all_faults_are_told_at_once_with_the_line_of_step_and_key() -> None:
    text = """\
[metadata]
name = "bad name"
dependencies = ["ok", "not ok"]

[[steps]]
action = "apt_install"
packages = [
  "jq",
  "j q",
]
when = { os = "linux", familly = "debian" }

[[steps]]
action = "require_system"
command = "docker"
  [steps.packages]
  atp = ["docker.io"]

[verify]
command = 3

[sandbox]
netwrok = "none"
"""
    assert problems(text) == [
        f"f.toml:2: metadata.name: 'bad name' is not {grammar.name.what}",
        "f.toml:3: metadata.dependencies[1]: 'not ok' is not a dependency: a recipe's name, optionally with @version",
        "f.toml:9: steps[0].packages[1]: 'j q' is not a package name that apt knows",
        "f.toml:11: steps[0].when.familly: unknown condition (did you mean 'linux_family'?)",
        "f.toml:17: steps[1].packages.atp: unknown package manager 'atp' (did you mean 'apt'?)",
        "f.toml:20: verify.command: expected text, got a whole number",
        "f.toml:23: sandbox.netwrok: unknown key (did you mean 'network'?)",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.toml:1: metadata.name: is missing"),
        ("x", "not valid TOML"),
        ("[metadata", "not valid TOML"),
        ('[metadata]\nname = "a"\nname = "b"\n', "f.toml:3: not valid TOML: Cannot overwrite a value"),
        ("[metadata]\n[metadata]\n", "not valid TOML"),
        ("x = " + "[" * 10_000 + "]" * 10_000, "is nested too deeply"),
        ("x = " + "{a=" * 10_000 + "1" + "}" * 10_000, "is nested too deeply"),
        ("a" + ".a" * 10_000 + " = 1", "f.toml:1: a key is nested too deeply"),
        ("[" + "a." * 10_000 + "a]", "f.toml:1: a key is nested too deeply"),
        ("x = 1" + "0" * 5000, "f.toml: holds a number with too many digits"),
        (f"steps = 1\n{HEAD}", "f.toml:1: steps: expected [[steps]] tables"),
        (f"steps = []\n{HEAD}", "f.toml:1: steps: a recipe needs at least one step"),
        (f"{HEAD}[[steps]]", "f.toml:3: steps[0].action: is missing"),
        (f"{HEAD}[[steps]]\naction = 1", "f.toml:4: steps[0].action: expected text"),
        (f'{HEAD}[[steps]]\naction = "a b"', "f.toml:4: steps[0].action: 'a b' is not a name"),
        (f"{HEAD}{STEP}[verfiy]", "f.toml:6: verfiy: unknown table (did you mean 'verify'?)"),
        (f'{HEAD}descripton = "x"\n{STEP}', "f.toml:3: metadata.descripton: unknown key (did you mean 'description'?)"),
        (f"{HEAD}{STEP}[sandbox]\nlimits = {{ cpus = nan }}", "f.toml:7: sandbox.limits.cpus: must be more than 0"),
        (f"{HEAD}{STEP}[sandbox]\nlimits = {{ cpus = inf }}", "f.toml:7: sandbox.limits.cpus: must be more than 0"),
        (f"{HEAD}{STEP}[sandbox]\nlimits = {{ pids = 0 }}", "f.toml:7: sandbox.limits.pids: must be more than 0"),
        (
            f'{HEAD}{STEP}[sandbox]\nlimits = {{ memory = "2t" }}',
            "f.toml:7: sandbox.limits.memory: '2t' is not an amount",
        ),
        (f'{HEAD}{STEP}[sandbox]\nenv = {{ "A B" = "1" }}', "f.toml:7: sandbox.env.A B: 'A B' is not an environment"),
        (f'{HEAD}{STEP}[sandbox]\nenv = {{ PATH = "/x" }}', "f.toml:7: sandbox.env.PATH: PATH is set by the sandbox"),
        (f'{HEAD}{STEP}[sandbox]\nenv = {{ LD_AUDIT = "/x" }}', "f.toml:7: sandbox.env.LD_AUDIT: LD_AUDIT is set by"),
        (f"{HEAD}{STEP}[sandbox]\nenv = {{ A = 1 }}", "f.toml:7: sandbox.env.A: expected text, got a whole number"),
        (f'{HEAD}{STEP}[sandbox]\nnetwork = "host"', "f.toml:7: sandbox.network: unknown value 'host'"),
        (
            f'{HEAD}{STEP}[verify]\npattern = "a"\npatterns = ["b"]',
            "f.toml:8: verify.patterns: give pattern or patterns",
        ),
        (f"{HEAD}{STEP}[verify]\nexit_code = 256", "f.toml:7: verify.exit_code: expected a whole number <= 255"),
        (f"{HEAD}{STEP}[[verify.additional]]\n", "f.toml:6: verify.additional[0].command: is missing"),
        (f'{HEAD}{STEP}[version]\npin = "1/../2"', "f.toml:7: version.pin: '1/../2' is not a version"),
        (f"{HEAD}{STEP}[lint]\nignore = {{ TS001 = '' }}", "f.toml:7: lint.ignore.TS001: needs a reason"),
        (f"{HEAD}{STEP}[lint]\nignored = {{}}", "f.toml:6: lint: expected ignore"),
        (
            f"{HEAD}{STEP}[[patches]]\nurl = 'file:///x'",
            "f.toml:7: patches[0].url: 'file:///x' must be an https:// URL",
        ),
        (f"{HEAD}{STEP}patches = 1", "f.toml:6: steps[0].patches: unknown key"),
    ],
)
def test_bad_text_gets_one_clear_error(text: str, message: str) -> None:
    assert any(message in problem for problem in problems(text)), problems(text)


WRONG = [
    1, 1.5, True, nan, date(1979, 5, 27), time(7, 32), [], [1], {}, {"a": "b"}, "\0", [[1]], ["", {}], {"a": None},
]  # fmt: skip
WHOLE: dict[str, Any] = {
    "metadata": {"name": "x", "dependencies": ["y"], "supported_os": ["linux"], "tier": 1, "satisfies": {}},
    "version": {"pin": "1"},
    "steps": [
        {"action": "apt_install", "packages": ["x"], "when": {"os": "linux"}, "note": "n", "unless_command": "x"},
        {"action": "require_system", "command": "x", "packages": {"apt": ["x"]}, "params": {"version_flag": "-V"}},
        {
            "action": "require_system",
            "primitives": [{"apt": {"packages": ["x"]}}, {"env_set": {"name": "A", "value": "1"}}],
        },
        {"action": "file_write", "path": "/etc/x", "content": "x", "mode": "0644"},
        {"action": "download_file", "url": "https://example.com/x", "dest": "x", "checksum": "0" * 64},
        {"action": "manual", "text": "x"},
    ],
    "verify": {"command": "x", "patterns": ["x"], "exit_code": 1, "additional": [{"command": "x"}]},
    "sandbox": {"network": "none", "limits": {"memory": "1g", "pids": 1}, "env": {"A": "1"}, "user": "x"},
    "resources": [{"url": "https://example.com/x"}],
    "lint": {"ignore": {"TS001": "x"}},
}


def paths_of(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a nested value."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths_of(item, (*path, key))


def replaced(path: tuple[Any, ...], value: object) -> dict[str, Any]:
    made = deepcopy(WHOLE)
    inner: Any = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return made


def test_the_whole_recipe_is_valid() -> None:
    assert read_recipe(WHOLE, "f", Lines(""))[1] == []


@pytest.mark.parametrize("path", list(paths_of(WHOLE)), ids=str)
def test_a_wrong_type_anywhere_is_told_at_its_place(path: tuple[Any, ...]) -> None:
    refused = 0
    for value in WRONG:
        recipe, faults = read_recipe(replaced(path, value), "f", Lines(""))
        assert (recipe is None) == bool(faults)
        refused += bool(faults)
        around = [fault for fault in faults if fault.path[: len(path)] != path[: len(fault.path)]]
        # A step without a usable action is read as another action, whose own fields may be wrong then.
        assert not around or path[-1] == "action", (value, around)
    assert refused >= 3 or path in OPEN, refused


# Tables of others, and their parameters: whatever JSON can carry.
OPEN = {("metadata", "satisfies")}


@pytest.mark.parametrize(
    "value",
    [
        "nan",
        "-inf",
        "1979-05-27",
        "1979-05-27T07:32:00Z",
        "99999999999999999999",
        "-9223372036854775809",
        "0x" + "f" * 300,
    ],
)
def test_what_json_cannot_carry_is_refused_in_steps_of_others_too(value: str) -> None:
    assert "f.toml:5: steps[0].deep" in only_problem(f'{HEAD}[[steps]]\naction = "theirs"\ndeep = [{{ x = {value} }}]')


def test_control_characters_in_any_message_are_escaped() -> None:
    texts = (
        f'{HEAD}{STEP}["\\u001b[31mred"]',
        f'{HEAD}[[steps]]\naction = "\\u001b[31m"',
        f'{HEAD}[[steps]]\naction = "apt_install"\npackages = ["\\u001b]0;title\\u0007"]',
        f'{HEAD}[[steps]]\naction = "x"\nwhen = {{ os = "\\u202e" }}',
        f'{HEAD}[[steps]]\naction = "x"\nwhen = {{ "\\u009b31m" = "linux" }}',
        f'{HEAD}[[steps]]\naction = "x"\n"\\r\\n" = nan',
        '["\\u001b"]\n["\\u001b"]',
    )
    for text in texts:
        for message in problems(text):
            assert all(char.isprintable() for char in message), message


def test_install_guide_is_an_error_that_leads_to_migrate() -> None:
    text = f'{HEAD}[[steps]]\naction = "require_system"\ncommand = "x"\ninstall_guide = {{ linux = "apt install x" }}\n'
    with pytest.raises(InvalidInput) as caught:
        load_recipe(text, "f.toml")
    assert "f.toml:6: steps[0].install_guide" in caught.value.message
    assert caught.value.hint == "tsandbox migrate --diff f.toml"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ('packages = { apt = ["x"] }\nprimitives = [{ apt = ["x"] }]', "give packages or primitives, not both"),
        ("", "needs a command, packages or primitives"),
        ('command = "x"\nmin_version = "1"', "needs version_flag and version_regex"),
        ('command = "x"\nmin_version = "1"\nversion_flag = "-V"', "needs version_regex"),
        ('primitives = [{ apt = ["x"], dnf = ["y"] }]', "each primitive is a table with one word"),
        ('primitives = [{ shell = "id" }]', "unknown primitive 'shell'"),
        ("primitives = [{ apt = [] }]", "names no package"),
        ('primitives = [{ apt = { packages = ["x"], tap = "a/b" } }]', "apt has no taps"),
        ('primitives = [{ apt_repo = { url = "https://example.com/" } }]', "key_url: is missing"),
        (
            'primitives = [{ dnf_repo = { url = "https://example.com/", gpgkey = "http://x", key_sha256 = "0" } }]',
            "must be an https:// URL",
        ),
        ('primitives = [{ file_write = { path = "/etc/../x", content = "" } }]', "'.' or '..' part"),
        ('primitives = [{ group_add = "Not A Group" }]', "is not a group name"),
    ],
)
def test_require_system_is_checked_up_front(parameters: str, message: str) -> None:
    assert any(message in each for each in problems(f'{HEAD}[[steps]]\naction = "require_system"\n{parameters}\n'))


def test_require_system_with_a_command_only_loads() -> None:
    [found] = step('action = "require_system"\ncommand = "docker"').steps
    assert isinstance(found.does, RequireSystem)
    assert found.does.check() == RequireCommand(command="docker")


def test_primitives_keep_their_order_and_short_forms_mean_the_same() -> None:
    key = f'key_url = "https://example.com/k", key_sha256 = "{"0" * 64}"'
    [found] = step(
        'action = "require_system"\nprimitives = [\n'
        f' {{ apt_repo = {{ url = "https://example.com/", suite = "x", components = ["main"], {key} }} }},\n'
        ' { apt = ["b", "a"] }, { group_add = "docker" }, { group_add = { group = "docker" } },\n'
        ' { service_enable = "docker" }, { service_start = { service = "docker" } }, { manual = "by hand" },\n]'
    ).steps
    assert isinstance(found.does, RequireSystem)
    order = found.does.in_order()
    assert [each.word for each in order] == [
        "apt_repo", "apt", "group_add", "group_add", "service_enable", "service_start", "manual",
    ]  # fmt: skip
    assert isinstance(order[0], AptRepo)
    assert order[2] == order[3] == GroupAdd(group="docker")


def test_the_other_name_of_a_key_url_is_read() -> None:
    urls = 'url = "https://example.com/"\ngpgkey = "https://example.com/k"'
    [found] = step(f'action = "dnf_repo"\n{urls}\nkey_sha256 = "{"a" * 64}"').steps
    assert isinstance(found.does, DnfRepo)
    assert found.does.key_url == "https://example.com/k"


def test_parameters_may_stand_in_a_table_of_their_own() -> None:
    [nested] = step('action = "apt_install"\nparams = { packages = ["jq"] }').steps
    [beside] = step('action = "apt_install"\npackages = ["jq"]').steps
    assert nested.does == beside.does
    assert "f.toml:5: steps[0].params.packages: is given twice" in only_problem(
        f'{HEAD}[[steps]]\naction = "apt_install"\nparams = {{ packages = ["jq"] }}\npackages = ["jq"]\n'
    )
    assert "f.toml:6: steps[0].params.packages[0]" in only_problem(
        f'{HEAD}[[steps]]\naction = "apt_install"\n[steps.params]\npackages = ["j q"]\n'
    )


def test_an_unknown_action_is_carried_with_its_parameters() -> None:
    [found] = step('action = "teleport"\nto = { x = [1, 2.5, true, "…"] }').steps
    assert found.does == Carried(action="teleport", params={"to": {"x": [1, 2.5, True, "…"]}})


@pytest.mark.parametrize(
    "parameters",
    [
        'action = "download_file"\nurl = "https://user:pw@example.com/x"',
        'action = "download_file"\nurl = "https://example.com/x"\ndest = "../../etc/passwd"',
        'action = "extract"\narchive = "/etc/shadow"',
        'action = "install_binaries"\nexecutables = ["bin/../../x"]',
        'action = "npm_install"\npackage = "a\\nb"',
    ],
)
def test_parameters_that_are_acted_on_are_checked_although_they_are_carried(parameters: str) -> None:
    assert only_problem(f"{HEAD}[[steps]]\n{parameters}\n")


def test_lines_survive_any_line_ending_and_comments() -> None:
    text = "# c\r\n\r\n[metadata]\r\nname = 'x'\r\n[[steps]] # s\r\naction = 'apt_install'\r\npackages = ['a b']\r\n"
    assert only_problem(text).startswith("f.toml:7: steps[0].packages[0]")


def test_a_thousand_faults_are_a_thousand_problems() -> None:
    text = HEAD + "".join(f'[[steps]]\naction = "apt_install"\npackages = ["bad {i}"]\n' for i in range(1000))
    assert len(problems(text)) == 1000


def test_the_number_of_steps_is_bounded() -> None:
    assert len(load_recipe(HEAD + STEP * 1_000).steps) == 1_000
    told = only_problem(HEAD + STEP * 1_001)
    assert told.endswith("steps[1000]: a recipe has 1,000 steps at most, and this has 1,001")


@pytest.mark.parametrize("amount", ["1", "5m", "6143k", "1025g", "999999999999999g"])
def test_memory_that_no_container_starts_with_is_refused_with_its_line(amount: str) -> None:
    told = only_problem(f'{HEAD}{STEP}[sandbox]\nlimits = {{ memory = "{amount}" }}\n')
    assert told == "f.toml:7: sandbox.limits.memory: must be between 6m and 1024g"


@pytest.mark.parametrize("amount", ["6m", "6291456", "6291456b", "6144K", "2GiB", "1024g"])
def test_memory_within_bounds_loads(amount: str) -> None:
    recipe = load_recipe(f'{HEAD}{STEP}[sandbox]\nlimits = {{ memory = "{amount}" }}\n')
    assert recipe.sandbox.limits.memory == amount


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[sandbox]\nnetwork = "host"', "sandbox.network: unknown value 'host' (one of: egress, none)"),
        ('[sandbox]\nprofile = "ful"', "sandbox.profile: unknown value 'ful' (did you mean 'full'?)"),
        ("[sandbox]\nprofile = 3", "sandbox.profile: expected text, got a whole number"),
    ],
)
def test_where_there_is_a_choice_it_is_told(text: str, message: str) -> None:
    assert only_problem(f"{HEAD}{STEP}{text}\n") == f"f.toml:7: {message}"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('action = "pipx_install"\npackage = "--index-url=https://x.example"', "package: .* is not a Python package"),
        ('action = "pip_install"\npackage = "tool @ file:///srv/x"', "package: .* is not a Python package"),
        ('action = "pip_exec"\npackage = "tool"\nversion = "1 --pre"', "version: .* is not a package's version"),
        ('action = "npm_install"\npackage = "owner/project"', "package: .* is not a Node package"),
        ('action = "npm_exec"\npackage = "git+file:///srv/x"', "package: .* is not a Node package"),
        ('action = "npm_install"\npackage = "tool"\nversion = "file:../x"', "version: .* is not a package's version"),
        ('action = "download"\nurl = "https://x.example/f"\nchecksum = "../../x"', "checksum: is not a sha256"),
        ('action = "download"\nurl = "https://x.example/f"\nchecksum = "sha512:00"', "checksum: is not a sha512"),
        ('action = "download"\nchecksum = "00"\nchecksum_algo = "shake_128"', "checksum: .* is no algorithm"),
        ('action = "download"\nchecksum = 3', "checksum: expected text"),
    ],
)
def test_what_a_client_on_the_host_or_the_cache_is_asked_for_by_has_a_grammar(text: str, fault: str) -> None:
    assert re.search(fault, only_problem(f"{HEAD}[[steps]]\n{text}\n"))


def test_names_and_digests_as_real_recipes_write_them_are_taken() -> None:
    for text in (
        'action = "pipx_install"\npackage = "black[d,jupyter]"\nversion = "24.1.0rc1"',
        'action = "npm_install"\npackage = "@angular/cli"\nversion = "{version}"',
        'action = "download"\nurl = "https://x.example/f"\nchecksum = "{version.checksum}"',
        f'action = "download"\nurl = "https://x.example/f"\nchecksum = "SHA-512:{"A" * 128}"',
    ):
        assert len(step(text).steps) == 1


def test_faults_of_shape_and_of_content_are_told_together() -> None:
    found = problems(f'{HEAD}[[steps]]\naction = "download"\nurl = "ftp://x"\nwhen_made = 2024-01-01\n')
    assert len(found) == 2
