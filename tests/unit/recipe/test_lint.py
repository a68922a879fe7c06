"""Every rule: what breaks it, what does not, and how findings are placed and silenced."""

import pytest

from tsandbox.recipe.actions.carried import EXECUTED
from tsandbox.recipe.lint import RULES, Finding, check_text
from tsandbox.recipe.lint.parameters import NOT_READ, PARAMETERS
from tsandbox.recipe.target import Target
from tsandbox.recipe.when import When

HEAD = '[metadata]\nname = "x"\n\n'
VERIFY = '\n[verify]\ncommand = "x"\n'


def check(text: str, *known: str) -> tuple[Finding, ...]:
    return check_text(text, "f.toml", lambda name: name in known).findings


def whole(snippet: str) -> str:
    """The snippet of a rule's page as a recipe of its own."""
    return snippet if "[metadata]" in snippet else HEAD + snippet


def ids(text: str, *known: str) -> set[str]:
    return {finding.rule for finding in check(text, *known)}


def with_step(snippet: str) -> str:
    return snippet if "[[steps]]" in snippet else f'{snippet}\n[[steps]]\naction = "theirs"\n'


@pytest.mark.parametrize("rule", RULES)
def test_the_bad_example_of_a_rule_breaks_it_and_the_good_one_does_not(rule: str) -> None:
    assert rule in ids(with_step(whole(RULES[rule].bad)), "git")
    assert rule not in ids(with_step(whole(RULES[rule].good)), "git")


def test_ids_are_stable_and_pages_complete() -> None:
    assert list(RULES) == [f"TS{number:03}" for number in range(len(RULES))]
    assert all(rule.title and rule.why and rule.id == key for key, rule in RULES.items())
    assert [rule.id for rule in RULES.values() if rule.severity == "error"] == ["TS000"]


def test_the_warning_says_that_the_step_cannot_be_sandboxed() -> None:
    [found] = [each for each in check(f"{STEP}'require_system'\ncommand = 'x'\n") if each.rule == "TS002"]
    assert "cannot be sandboxed" in found.message
    assert "x is needed" in found.message


def places(rule: str, text: str, *known: str) -> list[tuple[int | None, str]]:
    return [(each.line, each.path) for each in check(text, *known) if each.rule == rule]


STEP = f"{HEAD}[[steps]]\naction = "
NEXT = "[[steps]]\naction = "
ALL = '{ apt = ["x"], dnf = ["x"], pacman = ["x"], apk = ["x"], zypper = ["x"] }'


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        ("TS001", f"{STEP}'theirs'\n", [(1, "verify")]),
        ("TS001", "[metadata]\nname = 'x'\ntype = 'library'\n[[steps]]\naction = 'theirs'\n", []),
        ("TS002", f"{STEP}'require_system'\ncommand = 'x'\n", [(4, "steps[0]")]),
        ("TS002", f"{STEP}'require_system'\ncommand = 'x'\nprimitives = []\n", []),
        (
            "TS003",
            f"{STEP}'apt_install'\npackages = [\n 'a',\n 'a',\n]\n",
            [(8, "steps[0].packages[1]")],
        ),
        (
            "TS003",
            f"{STEP}'apt_install'\npackages = ['a']\n{NEXT}'require_system'\npackages = {{ apt = ['a'] }}\n",
            [(9, "steps[1].packages.apt[0]")],
        ),
        (
            "TS003",
            f"{STEP}'apt_install'\npackages = ['a']\n{NEXT}'dnf_install'\npackages = ['a']\n",
            [],
        ),
        (
            "TS004",
            f"{STEP}'x'\nwhen = {{ os = 'darwin', linux_family = 'debian' }}\n",
            [(6, "steps[0].when")],
        ),
        ("TS004", f"{STEP}'x'\nwhen = {{ libc = 'musl', linux_family = 'debian' }}\n", [(6, "steps[0].when")]),
        ("TS004", f"{STEP}'x'\nwhen = {{ gpu = 'nvidia', os = 'linux' }}\n", []),
        ("TS004", f"{STEP}'brew_cask'\npackages = ['x']\nwhen = {{ os = 'linux' }}\n", [(7, "steps[0].when")]),
        (
            "TS005",
            f"{HEAD[:-1]}unsupported_platforms = ['linux/arm64']\n{NEXT}'x'\nwhen = {{ platform = 'linux/arm64' }}\n",
            [(4, "steps[0]")],
        ),
        (
            "TS006",
            f"{STEP}'x'\na = 1\nwhen = {{ arch = 'arm64' }}\n[[steps]]\naction = 'x'\na = 1\n",
            [],
        ),
        (
            "TS006",
            f"{STEP}'x'\nwhen = {{ arch = 'arm64' }}\n{NEXT}'x'\nwhen = {{ arch = 'amd64' }}\n{NEXT}'x'\n",
            [(10, "steps[2]")],
        ),
        ("TS007", f"{STEP}'x'\nurls = ['https://a.example', 'http://b.example']\n", [(6, "steps[0].urls[1]")]),
        (
            "TS008",
            f"{STEP}'download'\nurl = 'https://example.com/main/x'\nchecksum = '{'0' * 64}'\n",
            [(6, "steps[0].url")],
        ),
        ("TS008", f"{STEP}'download'\nurl = 'https://example.com/{{version}}/x'\n", [(6, "steps[0].url")]),
        (
            "TS008",
            f"{STEP}'download'\nurl = 'https://a.example/{{version}}'\nchecksum_url = 'https://a.example/s'\n",
            [],
        ),
        ("TS009", f"{STEP}'require_system'\npackages = {ALL}\n", []),
        ("TS009", f"{STEP}'apt_install'\npackages = ['x']\n[[steps]]\naction = 'manual'\ntext = 'x'\n", []),
        ("TS010", f"{STEP}'pacman_install'\npackages = ['build-base']\n", [(6, "steps[0].packages[0]")]),
        ("TS010", f"{STEP}'apt_install'\npackages = ['openssl-devel']\n", [(6, "steps[0].packages[0]")]),
        ("TS010", f"{STEP}'apk_install'\npackages = ['libxml2-dev', 'py3-pip']\n", []),
        ("TS010", f"{STEP}'brew_install'\npackages = ['build-essential']\n", []),
        (
            "TS011",
            f"{STEP}'require_system'\nprimitives = [{{ manual = '' }}]\n",
            [(6, "steps[0].primitives[0].manual")],
        ),
        ("TS012", f"{STEP}'x'\n[sandbox]\nenv = {{ API_KEY = 'abc-def-ghi' }}\n", [(7, "sandbox.env.API_KEY")]),
        ("TS012", f"{STEP}'x'\n[sandbox]\nenv = {{ API_KEY = '', TOKEN_FILE = '/run/x' }}\n", []),
        (
            "TS012",
            f"{STEP}'file_write'\npath = '/etc/x'\ncontent = '-----BEGIN RSA PRIVATE KEY-----'\n",
            [(7, "steps[0].content")],
        ),
        ("TS012", f"{STEP}'set_env'\nvars = {{ X = 'AKIAIOSFODNN7EXAMPLE' }}\n", [(6, "steps[0].vars.X")]),
        ("TS007", f"{STEP}'x'\n[version]\nurl = 'http://example.com/versions'\n", [(7, "version.url")]),
        ("TS013", f"{STEP}'chmod'\nfile = ['x']\nmode = '0755'\n", [(6, "steps[0].file")]),
        (
            "TS014",
            f"{STEP}'download_file'\nurl = 'https://x.example/x'\nsignature_url = 'y'\n",
            [(7, "steps[0].signature_url")],
        ),
        (
            "TS014",
            f"{HEAD[:-1]}mood = 'x'\n[[steps]]\naction = 'x'\n[verify]\ncolour = 1\n",
            [(3, "metadata.mood"), (7, "verify.colour")],
        ),
        ("TS015", f"{STEP}'downlaod_file'\nurl = 'x'\n", [(5, "steps[0].action")]),
        ("TS015", f"{STEP}'teleport'\n", []),
        (
            "TS017",
            f"{STEP}'x'\n[[resources]]\nurl = 'https://example.com/x'\nchecksum = 'sha256:{'ab' * 32}'\n",
            [(8, "resources[0].checksum")],
        ),
        (
            "TS019",
            f"{HEAD[:-1]}dependencies = ['git']\nruntime_dependencies = ['nope']\n{NEXT}'x'\n",
            [(4, "metadata.runtime_dependencies[0]")],
        ),
        (
            "TS019",
            f"{STEP}'homebrew'\ndependencies = ['git', 'no']\n{NEXT}'x'\nparams = {{ extra_dependencies = ['no'] }}\n",
            [(6, "steps[0].dependencies[1]"), (9, "steps[1].params.extra_dependencies[0]")],
        ),
        ("TS021", f"{HEAD[:-1]}supported_arch = ['x86_64', 'amd46']\n{NEXT}'x'\n", [(3, "metadata.supported_arch[1]")]),
        ("TS021", f"{HEAD[:-1]}unsupported_platforms = ['darwin/aarch64']\n{NEXT}'x'\n", []),
        ("TS020", f"{STEP}'require_system'\nprimitives = [{{ group_add = 'x' }}]\n", []),
    ],
)
def test_a_rule_points_to_the_very_place(rule: str, text: str, expected: list[tuple[int | None, str]]) -> None:
    assert places(rule, text, "git") == expected


def test_a_finding_in_params_is_placed_where_it_is_written() -> None:
    text = f"{STEP}'chmod'\n[steps.params]\nfile = 'x'\nmode = '0755'\n"
    assert places("TS013", text) == [(7, "steps[0].params.file")]


def test_a_secret_is_never_in_the_message() -> None:
    text = f"{STEP}'env_set'\nname = 'X_TOKEN'\nvalue = 'correct-horse'\n"
    [found] = [each for each in check(text) if each.rule == "TS012"]
    assert "correct-horse" not in str(found)


def test_a_rule_is_silenced_by_id_with_a_reason() -> None:
    text = f"{STEP}'theirs'\n[lint]\nignore = {{ TS001 = 'it has no command' }}\n"
    [found] = check(text)
    assert (found.rule, found.silenced) == ("TS001", "it has no command")


@pytest.mark.parametrize(
    ("rule", "message"),
    [("TS999", "there is no such rule"), ("TS002", "does not break this rule"), ("TS000", "errors cannot be silenced")],
)
def test_a_silence_that_silences_nothing_is_itself_a_finding(rule: str, message: str) -> None:
    text = f"{STEP}'theirs'\n{VERIFY}[lint.ignore]\n{rule} = 'x'\n"
    [found] = check(text)
    assert (found.rule, found.path, found.line) == ("TS016", f"lint.ignore.{rule}", 10)
    assert message in found.message


def test_what_does_not_load_is_a_finding_for_each_fault() -> None:
    checked = check_text("[metadata]\nname = 'a b'\n[[steps]]\naction = 1\n", "f.toml")
    assert checked.recipe is None
    assert [(each.rule, each.severity, each.line) for each in checked.findings] == [
        ("TS000", "error", 2),
        ("TS000", "error", 4),
    ]


def test_findings_are_in_the_order_of_the_lines() -> None:
    text = f"{STEP}'apt_instal'\n[[steps]]\naction = 'run_command'\ncommand = 'x'\n"
    lines = [finding.line for finding in check(text)]
    assert lines == sorted(lines, key=lambda line: line or 0)


def test_a_finding_reads_like_a_compilers_message() -> None:
    [found] = check(f"{STEP}'apt_instal'\n{VERIFY}")
    assert str(found) == (
        "f.toml:5: warning: steps[0].action: unknown action 'apt_instal' (did you mean 'apt_install'?) [TS015]"
    )


def test_the_parameters_of_every_executed_action_are_known() -> None:
    assert set(PARAMETERS) == set(EXECUTED)


def test_twice_the_steps_need_no_more_than_twice_the_looks_at_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    original = When.matches

    def counted(self: When, target: Target) -> bool:
        nonlocal looks
        looks += 1
        return original(self, target)

    def looks_for(count: int) -> int:
        nonlocal looks
        looks = 0
        check(HEAD + "[[steps]]\naction = 'x'\na = 1\nwhen = { arch = 'arm64' }\n" * count)
        return looks

    monkeypatch.setattr(When, "matches", counted)
    looks_for(1)
    assert looks_for(400) <= 2 * looks_for(200) + 10


def test_a_superfluous_step_is_told_which_steps_it_repeats_but_not_each_that_repeats_them_too() -> None:
    [*_, last] = [each for each in check(HEAD + "[[steps]]\naction = 'x'\n" * 4) if each.rule == "TS006"]
    assert (last.path, "that steps[0] did" in last.message) == ("steps[3]", True)


def test_what_is_not_read_is_known_all_the_same() -> None:
    assert all(names <= set(PARAMETERS[action]) for action, names in NOT_READ.items())
