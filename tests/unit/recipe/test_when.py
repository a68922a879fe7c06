"""Conditions: a step is selected if and only if every condition holds, and more conditions never select more."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsandbox.errors import UsageError
from tsandbox.recipe import Recipe, Target, darwin, linux, load_recipe
from tsandbox.recipe.near import did_you_mean
from tsandbox.recipe.target import ARCHES, FAMILIES, FAMILY_OF, MANAGER_OF
from tsandbox.recipe.when import VALUES, When, parse_when

TARGETS = [
    *(linux(family, arch, gpu) for family in FAMILIES for arch in ARCHES for gpu in (None, "nvidia", "amd", "intel")),
    *(darwin(arch) for arch in ARCHES),
    # A family may be unknown: then conditions on it do not hold.
    Target(os="linux", arch="amd64", libc="glibc"),
]
targets = st.sampled_from(TARGETS)
tables = st.fixed_dictionaries(
    {}, optional={key: st.lists(st.sampled_from(values), min_size=1, max_size=3) for key, values in VALUES.items()}
)
TYPED = {**{f"{manager}_install": family for manager, family in FAMILY_OF.items()}, "brew_cask": "darwin"}


def recipe_with(action: str, when: dict[str, Any]) -> Recipe:
    conditions = ", ".join(f"{key} = {values!r}" for key, values in when.items())
    parameters = 'packages = ["x"]' if action in TYPED else ""
    return load_recipe(
        f'[metadata]\nname = "x"\n[[steps]]\naction = "{action}"\n{parameters}\nwhen = {{ {conditions} }}\n'
    )


def holds(key: str, accepted: list[str], target: Target) -> bool:
    """The contract's own words, one condition at a time."""
    actual = {
        "os": target.os,
        "arch": target.arch,
        "platform": f"{target.os}/{target.arch}",
        "linux_family": target.linux_family,
        "libc": target.libc,
        "gpu": target.gpu or "none",
        "package_manager": "brew" if target.os == "darwin" else MANAGER_OF.get(target.linux_family),  # type: ignore[arg-type]
    }
    return (key == "libc" and target.os != "linux") or actual[key] in accepted


@given(tables, targets)
def test_a_step_is_selected_iff_every_condition_holds(when: dict[str, list[str]], target: Target) -> None:
    # `platform`, when present, decides alone.
    deciding = {"platform": when["platform"]} if "platform" in when else when
    expected = all(holds(key, accepted, target) for key, accepted in deciding.items())
    [step] = recipe_with("theirs", when).steps
    assert step.applies(target) is expected


@given(tables, targets, st.sampled_from(sorted(TYPED)))
def test_a_typed_action_is_selected_only_on_its_family(when: dict[str, list[str]], target: Target, action: str) -> None:
    [plain] = recipe_with("theirs", when).steps
    [typed] = recipe_with(action, when).steps
    home = TYPED[action]
    assert typed.applies(target) == (plain.applies(target) and home in (target.linux_family, target.os))


@given(tables, st.sampled_from([key for key in VALUES if key != "platform"]), targets, st.data())
def test_adding_a_condition_never_selects_more(
    when: dict[str, list[str]], key: str, target: Target, data: st.DataObject
) -> None:
    added = data.draw(st.lists(st.sampled_from(VALUES[key]), min_size=1, max_size=3))
    narrowed = {**when, key: [value for value in when.get(key, added) if value in added]}
    if not narrowed[key]:
        # An empty list says nothing; a condition that no value fulfils cannot be written.
        return
    [before] = recipe_with("theirs", when).steps
    [after] = recipe_with("theirs", narrowed).steps
    assert before.applies(target) or not after.applies(target)


@given(tables, targets)
def test_a_string_means_a_list_of_one_and_order_means_nothing(when: dict[str, list[str]], target: Target) -> None:
    single = {key: values[0] for key, values in when.items()}
    as_list = {key: [values[0]] for key, values in when.items()}
    assert parse_when(single) == parse_when(as_list)
    turned = {key: values[::-1] for key, values in reversed(list(when.items()))}
    assert parse_when(turned)[0].matches(target) == parse_when(when)[0].matches(target)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"os": "linus"}, "unknown value 'linus' (did you mean 'linux'?)"),
        ({"os": ["linux", "windows"]}, "unknown value 'windows'"),
        ({"familiy": "debian"}, "unknown condition"),
        ({"arch": 64}, "expected a string or a list of strings"),
        ({"arch": ["amd64", 64]}, "expected a string or a list of strings"),
        ({"platform": "linux"}, "unknown value 'linux'"),
        ({"libc": "uclibc"}, "unknown value 'uclibc'"),
        ("linux", "expected a table"),
        (["linux"], "expected a table"),
    ],
)
def test_unknown_keys_and_values_are_errors(raw: object, message: str) -> None:
    [(_, told)] = parse_when(raw)[1]
    assert message in told


def test_other_names_of_architectures_are_read() -> None:
    when, faults = parse_when({"arch": ["x86_64", "aarch64"], "platform": "linux/x86_64"})
    assert not faults
    assert when == When(arch=("amd64", "arm64"), platform=("linux/amd64",))


def test_an_empty_value_says_nothing() -> None:
    assert parse_when({"linux_family": ""}) == (When(), [])


@pytest.mark.parametrize(
    ("when", "on_linux", "on_darwin"),
    [("", False, True), ('when = { os = ["linux", "darwin"] }', True, True), ('when = { os = "linux" }', True, False)],
)
def test_homebrew_is_for_macos_unless_the_step_says_linux(when: str, on_linux: bool, on_darwin: bool) -> None:
    text = f'[metadata]\nname = "x"\n[[steps]]\naction = "brew_install"\npackages = ["x"]\n{when}\n'
    [step] = load_recipe(text).steps
    assert (step.applies(linux("debian")), step.applies(darwin())) == (on_linux, on_darwin)


def test_libc_follows_the_family() -> None:
    assert {family: linux(family).libc for family in FAMILIES} == {
        "debian": "glibc", "rhel": "glibc", "arch": "glibc", "alpine": "musl", "suse": "glibc",
    }  # fmt: skip


def test_a_target_is_normalised_or_refused() -> None:
    assert linux("debian", "x86_64").arch == "amd64"
    assert linux("debian", "aarch64").arch == "arm64"
    with pytest.raises(UsageError):
        linux("gentoo")
    with pytest.raises(UsageError):
        linux("debian", "riscv64")


def test_where_nothing_is_known_nothing_is_offered() -> None:
    assert did_you_mean("jq", []) == ""
    assert did_you_mean("q", ["a", "b"]) == " (one of: a, b)"
