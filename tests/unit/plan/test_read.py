"""Plans from JSON: versions of the format, every fault at once, and the grammar of what they hold."""

import json
from typing import Any

import pytest

from tsandbox.errors import InvalidInput, NotSupported
from tsandbox.plan import Plan
from tsandbox.plan.read import read_plan
from tsandbox.plan.target import target_for
from tsandbox.recipe import Target, linux
from tsandbox.recipe.actions import AptInstall, Carried

STEP: dict[str, Any] = {"action": "apt_install", "params": {"packages": ["jq"]}}
WHOLE: dict[str, Any] = {
    "format_version": 5,
    "tool": "x",
    "version": "1",
    "platform": {"os": "linux", "arch": "amd64", "linux_family": "debian"},
    "steps": [STEP],
}


def read(**changes: Any) -> Plan:
    return read_plan(json.dumps({**WHOLE, **changes}), "p.json")


def problems(**changes: Any) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        read(**changes)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("version", [3, 4, 5])
def test_three_versions_of_the_format_are_read(version: int) -> None:
    [step] = read(format_version=version).steps
    assert step.does == AptInstall(packages=("jq",))


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (6, "p.json: format_version 6 is newer than this tsandbox; versions 3, 4, 5 are read"),
        (2, "p.json: format_version 2 is too old; versions 3, 4, 5 are read"),
        (0, "p.json: format_version 0 is too old; versions 3, 4, 5 are read"),
        (None, "p.json: format_version is missing or not a whole number; tsandbox reads 3, 4, 5"),
        ("5", "p.json: format_version is missing or not a whole number; tsandbox reads 3, 4, 5"),
        (True, "p.json: format_version is missing or not a whole number; tsandbox reads 3, 4, 5"),
        (5.0, "p.json: format_version is missing or not a whole number; tsandbox reads 3, 4, 5"),
    ],
)
def test_any_other_version_is_refused_by_name(version: object, message: str) -> None:
    assert problems(format_version=version) == [message]


def test_all_faults_are_told_with_their_paths() -> None:
    told = problems(
        tool="a b",
        version="1/../2",
        platform={"os": "plan9", "arch": "amd64", "linux_family": "debain"},
        steps=[
            {"action": "apt_install", "params": {"packages": ["a b"]}},
            {"action": "", "params": {}},
            {"params": {}},
            {"action": "download_file", "params": {"dest": "../x"}, "size": -1},
        ],
        dependencies=[{"tool": "y", "steps": [{"action": "group_add", "params": {"group": "A"}}]}],
        sandbox={"network": "host", "limits": {"memory": "lots"}},
        verify={"pattern": "a", "patterns": ["b"]},
    )
    assert [line.split(": ")[1] for line in told] == [
        "sandbox.network",
        "tool",
        "version",
        "platform.os",
        "platform.linux_family",
        "verify.patterns",
        "sandbox.limits.memory",
        "steps[0].params.packages[0]",
        "steps[1].action",
        "steps[2].action",
        "steps[3].size",
        "steps[3].params.dest",
        "dependencies[0].steps[0].params.group",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"platform": None}, "platform: is missing"),
        ({"platform": "linux"}, "platform: expected a table, got text"),
        ({"platform": {"os": "linux"}}, "platform.arch: is missing"),
        ({"platform": {"os": "linux", "arch": "amd64", "libc": "uclibc"}}, "platform.libc: unknown value 'uclibc'"),
        ({"platform": {"os": "linux", "arch": "amd64", "gpu": "voodoo"}}, "platform.gpu: unknown value 'voodoo'"),
        ({"steps": {}}, "steps: expected a list, got a table"),
        ({"steps": [1]}, "steps[0]: expected a table, got a whole number"),
        ({"stepps": []}, "stepps: unknown key (did you mean 'steps'?)"),
        ({"sandbox": {"env": {"A B": "x"}}}, "sandbox.env.A B: 'A B' is not an environment variable's name"),
        ({"sandbox": {"user": "root; id"}}, "sandbox.user: 'root; id' is not a user"),
        ({"sandbox": {"limits": {"cpus": 1e400}}}, "p.json: Infinity is not JSON"),
        ({"steps": [{**STEP, "params": {"packages": ["jq"], "x": 1}}]}, "steps[0].params.x: unknown key"),
        ({"steps": [{"action": "x", "params": [1]}]}, "steps[0].params: expected a table, got a list"),
        (
            {"steps": [{**STEP, "url": "file:///etc/passwd"}]},
            "steps[0].url: 'file:///etc/passwd' must be an https:// URL",
        ),
        (
            {"steps": [{**STEP, "checksum": "../../x"}]},
            "steps[0].checksum: '../../x' is not a sha256: 64 hexadecimal digits",
        ),
    ],
)
def test_a_fault_is_told_where_it_is(changes: dict[str, Any], message: str) -> None:
    assert any(message in line for line in problems(**changes)), problems(**changes)


def test_numbers_that_overflow_are_refused() -> None:
    text = json.dumps({**WHOLE, "steps": [{"action": "x", "params": {"n": 0}}]}).replace('"n": 0', '"n": 1e999')
    with pytest.raises(InvalidInput, match="is not a number that a plan can carry"):
        read_plan(text)


def test_dependencies_may_be_null_and_nest() -> None:
    assert read(dependencies=None).dependencies == ()
    nested = {"tool": "y", "version": "", "steps": [], "dependencies": [{"tool": "z", "steps": []}]}
    plan = read(dependencies=[nested])
    assert [part.tool for part in plan.with_dependencies()] == ["z", "y", "x"]


def test_dependencies_that_nest_without_end_are_refused() -> None:
    plan: dict[str, Any] = {"tool": "y", "steps": []}
    for _ in range(300):
        plan = {"tool": "y", "steps": [], "dependencies": [plan]}
    assert any("nest more than 100 deep" in line for line in problems(dependencies=[plan]))


def test_unknown_actions_and_keys_of_others_are_carried() -> None:
    plan = read(steps=[{"action": "theirs", "params": {"a": [1]}, "colour": "green"}], generated_by="somebody")
    assert plan.steps[0].does == Carried(action="theirs", params={"a": [1]})


def test_control_characters_never_reach_a_message_raw() -> None:
    for line in [
        *problems(tool="\x1b[31m"),
        *problems(steps=[{"action": "apt_install", "params": {"\x1b[2J": 1}}]),
        *problems(**{"step\u202es": 1}),
    ]:
        assert line.isprintable(), line


def test_a_key_given_twice_is_shown_escaped() -> None:
    with pytest.raises(InvalidInput) as caught:
        read_plan('{"\\u001b": 1, "\\u001b": 2}', "p.json")
    assert caught.value.message.isprintable()


def test_the_target_of_a_plan_is_its_own_platform() -> None:
    assert target_for(read(platform={"os": "linux", "arch": "x86_64", "linux_family": "alpine"})) == linux(
        "alpine", "amd64"
    )
    wide = read(platform={"os": "linux", "arch": "arm64"})
    assert target_for(wide) == linux("debian", "arm64")
    assert target_for(wide, family="suse") == linux("suse", "arm64")
    odd = read(platform={"os": "linux", "arch": "amd64", "linux_family": "debian", "libc": "musl", "gpu": "nvidia"})
    assert target_for(odd) == Target(os="linux", arch="amd64", linux_family="debian", libc="musl", gpu="nvidia")


@pytest.mark.parametrize(
    ("platform", "asked", "message"),
    [
        ({"os": "darwin", "arch": "arm64"}, {}, "the plan is for darwin/arm64, and the sandbox runs Linux"),
        ({"os": "linux", "arch": "amd64", "linux_family": "rhel"}, {"family": "debian"}, "made for linux_family rhel"),
        ({"os": "linux", "arch": "amd64"}, {"arch": "aarch64"}, "made for arch amd64, not aarch64"),
    ],
)
def test_a_plan_for_another_platform_is_not_supported(
    platform: dict[str, str], asked: dict[str, str], message: str
) -> None:
    with pytest.raises(NotSupported, match=message) as caught:
        target_for(read(platform=platform), **asked)
    assert caught.value.exit_code == 4


def test_steps_are_counted_with_those_of_dependencies_and_bounded() -> None:
    half = {"tool": "y", "steps": [STEP] * 5_000}
    [told] = problems(dependencies=[half | {"dependencies": [half]}])
    assert told == "p.json: a plan has 10,000 steps at most, with its dependencies, and this has 10,001"
