"""What a plan makes of an image: order, duplicates, limits, and what is refused."""

from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from tests.made_plans import PACKAGE_ACTIONS, REPOSITORY, REPOSITORY_ACTIONS, plan, recipe, step
from tsandbox.derive import derive
from tsandbox.errors import NotSupported
from tsandbox.plan import Platform, select
from tsandbox.recipe import darwin, linux
from tsandbox.recipe.model import LimitOverrides, Sandbox
from tsandbox.recipe.target import FAMILIES, MANAGER_OF

DEBIAN = linux("debian", "amd64")


# --- Packages and their order


@pytest.mark.parametrize("family", FAMILIES)
def test_packages_are_sorted_and_without_duplicates(family: str) -> None:
    action = PACKAGE_ACTIONS[family]
    spec = derive(plan(step(action, packages=["zsh", "jq"]), step(action, packages=["jq", "bc"])), linux(family))
    assert spec.packages == {MANAGER_OF[family]: ("bc", "jq", "zsh")}  # type: ignore[index]


def test_packages_of_all_nested_dependencies_are_there() -> None:
    deep = plan(step("apt_install", packages=["libdeep1"]), tool="deep")
    middle = plan(step("apt_install", packages=["middle"]), tool="middle", dependencies=(deep,))
    spec = derive(plan(step("apt_install", packages=["top"]), dependencies=(middle,)), DEBIAN)
    assert spec.packages == {"apt": ("libdeep1", "middle", "top")}


def test_primitives_keep_the_order_of_installation_dependencies_first() -> None:
    needed = plan(step("group_add", group="needed"), step("apt_install", packages=["z"]), tool="needed")
    spec = derive(
        plan(step("apt_install", packages=["a"]), step("group_add", group="mine"), dependencies=(needed,)), DEBIAN
    )
    assert spec.primitives == (
        {"group_add": {"group": "needed"}},
        {"apt": ("z",)},
        {"apt": ("a",)},
        {"group_add": {"group": "mine"}},
    )


def test_a_primitive_that_is_asked_for_twice_stands_once_at_its_first_place() -> None:
    spec = derive(
        plan(step("group_add", group="a"), step("group_add", group="b"), step("group_add", group="a")), DEBIAN
    )
    assert spec.primitives == ({"group_add": {"group": "a"}}, {"group_add": {"group": "b"}})


@pytest.mark.parametrize("family", FAMILIES)
def test_repositories_precede_the_packages_that_need_them(family: str) -> None:
    packages = step(PACKAGE_ACTIONS[family], packages=["first"])
    repository = step(REPOSITORY_ACTIONS[family], **REPOSITORY)
    spec = derive(plan(packages, step("group_add", group="g"), repository), linux(family, "amd64"))
    words = [next(iter(primitive)) for primitive in spec.primitives]
    assert words == [REPOSITORY_ACTIONS[family], MANAGER_OF[family], "group_add"]  # type: ignore[index]


def test_a_repository_of_the_tool_precedes_the_packages_of_its_dependency() -> None:
    needed = plan(step("apt_install", packages=["needed"]), tool="needed")
    spec = derive(plan(step("apt_repo", **REPOSITORY), dependencies=(needed,)), DEBIAN)
    assert [next(iter(primitive)) for primitive in spec.primitives] == ["apt_repo", "apt"]


def test_the_order_before_the_first_package_is_the_recipes() -> None:
    spec = derive(
        plan(
            step("group_add", group="g"),
            step("apt_repo", **REPOSITORY),
            step("env_set", name="A", value="1"),
            step("apt_install", packages=["p"]),
        ),
        DEBIAN,
    )
    assert [next(iter(primitive)) for primitive in spec.primitives] == ["group_add", "apt_repo", "env_set", "apt"]


def test_one_repository_asked_for_twice_is_one() -> None:
    spec = derive(plan(step("apt_repo", **REPOSITORY), step("apt_repo", **REPOSITORY)), DEBIAN)
    assert len(spec.repositories) == 1


def test_the_later_of_two_settings_holds() -> None:
    values = ["1", "2", "1"]
    steps = [step("env_set", name="A", value=value) for value in values]
    files = [step("file_write", path="/etc/made", content=value) for value in values]
    spec = derive(plan(*steps, *files), DEBIAN)
    assert [(each.name, each.value) for each in spec.env] == [("A", "1")]
    assert [(each.path, each.content) for each in spec.files] == [("/etc/made", "1")]


# --- require_system


def test_require_system_gives_the_packages_of_the_family_and_the_command() -> None:
    needed = step("require_system", command="jq", packages={"apt": ["jq"], "dnf": ["jq-rhel"]})
    assert derive(plan(needed), linux("rhel", "amd64")).packages == {"dnf": ("jq-rhel",)}
    assert derive(plan(needed), DEBIAN).commands == ("jq",)


def test_require_system_without_packages_for_the_family_is_refused_with_its_place() -> None:
    needed = step("require_system", line=7, packages={"apt": ["jq"]})
    with pytest.raises(
        NotSupported, match=r"made\.toml:7: require_system: no packages for apk \(alpine\), only for apt"
    ):
        derive(plan(needed), linux("alpine", "amd64"))


def test_commands_are_sorted_and_without_duplicates() -> None:
    spec = derive(plan(*(step("require_command", command=name) for name in ("zsh", "awk", "zsh"))), DEBIAN)
    assert spec.commands == ("awk", "zsh")
    assert spec.primitives == ()


# --- What is refused: exit 4, with the step's place


@pytest.mark.parametrize(("family", "other"), list(permutations(FAMILIES, 2)))
def test_an_action_of_another_family_is_refused(family: str, other: str) -> None:
    for action in (
        step(PACKAGE_ACTIONS[other], line=3, packages=["p"]),
        step(REPOSITORY_ACTIONS[other], line=3, **REPOSITORY),
    ):
        with pytest.raises(NotSupported, match=rf"made\.toml:3: .* is not the package manager of {family}") as refused:
            derive(plan(action), linux(family, "amd64"))
        assert (refused.value.exit_code, refused.value.line) == (4, 3)


def test_mixed_managers_inside_one_step_are_refused() -> None:
    mixed = step("require_system", line=9, primitives=[{"apt": ["a"]}, {"dnf": ["b"]}])
    with pytest.raises(NotSupported, match=r"made\.toml:9: require_system: dnf is not the package manager of debian"):
        derive(plan(mixed), DEBIAN)


@pytest.mark.parametrize(
    ("action", "params", "message"),
    [
        ("apt_ppa", {"ppa": "ppa:owner/name"}, "needs an Ubuntu base"),
        ("brew_install", {"packages": ["jq"]}, "Homebrew cannot be used in the sandbox"),
        ("brew_cask", {"packages": ["docker"]}, "Homebrew cannot be used in the sandbox"),
    ],
)
def test_what_no_base_can_do_is_refused(action: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(NotSupported, match=message) as refused:
        derive(plan(step(action, **params)), DEBIAN)
    assert refused.value.exit_code == 4


@pytest.mark.parametrize(("family", "action"), [("rhel", "dnf_repo"), ("suse", "zypper_repo")])
def test_a_repo_file_of_somebody_elses_is_not_trusted(family: str, action: str) -> None:
    repository = {**REPOSITORY, "url": "https://packages.example.com/made.repo"}
    with pytest.raises(NotSupported, match=r"is a \.repo file"):
        derive(plan(step(action, **repository)), linux(family, "amd64"))


def test_an_unsuitable_step_of_a_dependency_is_refused() -> None:
    needed = plan(step("dnf_install", packages=["p"]), tool="needed")
    with pytest.raises(NotSupported):
        derive(plan(step("apt_install", packages=["p"]), dependencies=(needed,)), DEBIAN)


def test_a_darwin_target_is_refused() -> None:
    with pytest.raises(NotSupported, match="the sandbox runs Linux"):
        derive(plan(step("apt_install", packages=["p"])), darwin())


def test_a_darwin_plan_is_refused() -> None:
    mac = plan(step("brew_install", packages=["jq"]), platform=Platform(os="darwin", arch="arm64"), file="plan.json")
    with pytest.raises(NotSupported, match=r"plan\.json: the plan is for darwin/arm64"):
        derive(mac)


def test_a_family_without_an_image_for_the_architecture_is_refused() -> None:
    with pytest.raises(NotSupported, match="not published for arm64"):
        derive(plan(step("pacman_install", packages=["p"])), linux("arch", "arm64"))


# --- Limits and network


@pytest.mark.parametrize(
    ("action", "limits"), [("download_file", ("2g", 2, 100, 120)), ("configure_make", ("4g", 4, 500, 900))]
)
def test_limits_follow_the_kind_of_installation(action: str, limits: tuple[object, ...]) -> None:
    found = derive(plan(step(action)), DEBIAN).limits
    assert (found.memory, found.cpus, found.pids, found.timeout) == limits


def test_a_dependency_that_compiles_needs_the_limits_of_a_source_build() -> None:
    needed = plan(step("cargo_install", crate="made"), tool="needed")
    assert derive(plan(step("chmod"), dependencies=(needed,)), DEBIAN).limits.timeout == 900


def test_the_recipe_overrides_single_limits() -> None:
    own = Sandbox(limits=LimitOverrides(memory="512m", cpus=0.5))
    found = derive(plan(step("chmod"), sandbox=own), DEBIAN).limits
    assert (found.memory, found.cpus, found.pids, found.timeout) == ("512m", 0.5, 100, 120)


def test_a_dependency_raises_limits_and_lowers_none() -> None:
    asked = LimitOverrides(pids=7, timeout=1800, memory="3000m", disk="1g")
    needed = plan(step("chmod"), tool="needed", sandbox=Sandbox(limits=asked))
    more = plan(step("chmod"), tool="more", sandbox=Sandbox(limits=LimitOverrides(timeout=600, disk="2048m")))
    found = derive(plan(step("chmod"), dependencies=(needed, more)), DEBIAN).limits
    assert (found.pids, found.timeout, found.memory, found.disk) == (100, 1800, "3000m", "2048m")
    own = Sandbox(limits=LimitOverrides(timeout=60))
    assert derive(plan(step("chmod"), sandbox=own, dependencies=(needed,)), DEBIAN).limits.timeout == 60


def test_a_dependency_that_needs_a_complete_debian_gets_one_unless_somebody_decides_otherwise() -> None:
    needed = plan(step("chmod"), tool="needed", sandbox=Sandbox(profile="full"))
    made = plan(step("chmod"), dependencies=(needed,))
    assert derive(made, DEBIAN).profile == "full"
    assert derive(made, DEBIAN, profile="minimal").profile == "minimal"
    own = plan(step("chmod"), sandbox=Sandbox(profile="minimal"), dependencies=(needed,))
    assert derive(own, DEBIAN).profile == "minimal"


def test_the_network_is_open_where_the_tool_or_a_dependency_needs_it() -> None:
    egress = plan(step("chmod"), sandbox=Sandbox(network="egress"))
    assert derive(plan(step("chmod")), DEBIAN).network == "none"
    assert derive(egress, DEBIAN).network == "egress"
    assert derive(plan(step("chmod"), dependencies=(egress,)), DEBIAN).network == "egress"


# --- Notes and blockers


def test_what_only_a_person_can_do_and_services_are_notes() -> None:
    spec = derive(
        plan(
            step("manual", text="turn the key"), step("service_enable", service="s"), step("service_start", service="t")
        ),
        DEBIAN,
    )
    assert spec.notes[0] == "by hand: turn the key"
    assert [note.split(":")[0] for note in spec.notes[1:]] == ["service s", "service t"]
    assert spec.primitives == ({"service_enable": "s"}, {"service_start": "t"})


def test_require_system_without_packages_derives_and_blocks_building() -> None:
    spec = derive(plan(step("require_system", line=4, command="docker")), DEBIAN)
    [blocker] = spec.blockers
    assert (blocker.kind, blocker.line) == ("not_supported", 4)
    assert "made.toml:4: require_system: neither packages nor primitives" in blocker.message


def test_missing_dependencies_are_listed_and_block_building() -> None:
    spec = derive(plan(step("chmod"), missing_dependencies=("gone", "lost"), file="made.toml"), DEBIAN)
    assert spec.missing_dependencies == ("gone", "lost")
    assert [blocker.kind for blocker in spec.blockers] == ["missing_dependency"] * 2
    assert "no recipe is called 'gone', which made depends on" in spec.blockers[0].message


@pytest.mark.parametrize("where", ["tool", "dependency"])
def test_what_the_recipe_says_it_does_not_support_blocks_building(where: str) -> None:
    unsupported = plan(step("chmod"), tool="old", unsupported="supported_arch = arm64")
    made = unsupported if where == "tool" else plan(step("chmod"), dependencies=(unsupported,))
    [blocker] = derive(made, DEBIAN).blockers
    assert blocker.kind == "not_supported"
    assert "not supported on linux/debian/amd64: supported_arch = arm64" in blocker.message


def test_a_recipe_with_no_step_for_the_family_blocks_building() -> None:
    made = recipe('[[steps]]\naction = "apt_install"\npackages = ["jq"]\n')
    target = linux("suse", "amd64")
    [blocker] = derive(select(made, target), target).blockers
    assert "no step of made applies to linux/suse/amd64" in blocker.message


# --- Profiles and bases


def test_profiles() -> None:
    made = plan(step("chmod"))
    assert derive(made, DEBIAN).profile == "minimal"
    assert derive(made, DEBIAN).base.name == "runtime"
    assert derive(made, DEBIAN, profile="full").base.name == "builder"
    assert derive(made, linux("suse", "amd64")).profile == "full"
    assert derive(plan(step("chmod"), sandbox=Sandbox(profile="full")), DEBIAN).profile == "full"


def test_the_command_line_decides_over_the_recipe() -> None:
    made = plan(step("chmod"), sandbox=Sandbox(profile="full"))
    assert derive(made, DEBIAN, profile="minimal").profile == "minimal"


def test_places_that_asked_for_a_package() -> None:
    first = step("apt_install", line=3, packages=["jq"])
    again = step("require_system", line=8, file="other.toml", packages={"apt": ["jq"]})
    assert derive(plan(first, again, first), DEBIAN).origins == {"apt:jq": ("made.toml:3", "other.toml:8")}


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        ("supported_os = darwin (needs a Mac)", "tsandbox guide made.toml --os darwin"),
        ("supported_arch = arm64", "choose another --family or --arch"),
    ],
)
def test_what_is_for_macs_only_is_not_sent_to_another_family(rule: str, hint: str) -> None:
    made = plan(step("chmod"), unsupported=rule)
    [blocker] = derive(replace(made, file="made.toml"), DEBIAN).blockers
    assert hint in str(blocker.hint)
