"""Which image is meant, why one is missed, and what goes first."""

import os
import time

import msgspec
import pytest

from tsandbox.build import base, collect, host, made, used
from tsandbox.build.cache import Entry, choose, differences, entries
from tsandbox.build.image import KEY, PREIMAGE, TOOL, find, tag_in
from tsandbox.build.verify import faults, verify
from tsandbox.derive import ImageDefinition, bases
from tsandbox.derive.key import Preimage, tag_of
from tsandbox.engine.protocol import Image
from tsandbox.errors import UsageError

from .conftest import FakeEngine

NOW = 1_800_000_000.0
DAY = 86400.0


def key(letter: str) -> str:
    return "sha256:" + letter * 64


def entry(letter: str, *, days: float = 0, size: int = 10, tool: str | None = None) -> Entry:
    return Entry(
        reference=tag_of(key(letter)),
        id=letter * 64,
        key=key(letter),
        tool=tool or letter,
        platform="linux/amd64",
        profile="minimal",
        base="sha256:base",
        size=size + 5,
        own_size=size,
        created=NOW - 400 * DAY,
        last_used=NOW - days * DAY,
        asked={},
    )


def removed(limits: collect.Limits, *found: Entry) -> list[tuple[str, str]]:
    return [(each.removeprefix("sha256:")[0], why) for each, why in collect.chosen_images(found, limits, NOW)]


def test_least_recently_used_goes_first_until_it_fits() -> None:
    found = (entry("a", days=1), entry("b", days=30), entry("c", days=3), entry("d", days=2))
    assert removed(collect.Limits(max_size=25), *found) == [("b", "too much in all"), ("c", "too much in all")]
    assert removed(collect.Limits(max_size=40), *found) == []


def test_what_is_reachable_stays_and_counts() -> None:
    found = (entry("a", days=1), entry("b", days=30), entry("c", days=3))
    keep = collect.Limits(max_size=10, reachable=frozenset({key("b")}))
    assert [name for name, _ in removed(keep, *found)] == ["c", "a"]
    assert [name for name, _ in removed(collect.Limits(reachable=frozenset({key("b")})), *found)] == ["c", "a"]


def test_age_is_the_time_since_the_last_use() -> None:
    found = (entry("a", days=1), entry("b", days=31), entry("c", days=29))
    assert removed(collect.Limits(older_than=30 * DAY), *found) == [("b", "not used lately")]


@pytest.mark.parametrize("word", ["aaaaaa", key("a"), tag_of(key("a")), f"localhost/{tag_of(key('a'))}", "jq"])
def test_an_image_is_meant_by_key_tag_or_tool(word: str) -> None:
    assert choose([entry("a", tool="jq"), entry("b")], word).key == key("a")


@pytest.mark.parametrize(("word", "told"), [("aa", "no image"), ("twin", "means 2 images"), ("zzzzzz", "no image")])
def test_a_word_that_means_none_or_several(word: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        choose([entry("a", tool="twin"), entry("b", tool="twin")], word)


def preimage(**changes: object) -> Preimage:
    given = {
        "schema": 1,
        "platform": "linux/amd64",
        "profile": "minimal",
        "base": "sha256:1",
        "dockerfile": "FROM a\nRUN b\n",
        "files": {"f": "1"},
    }
    return msgspec.convert({**given, **changes}, Preimage)


def test_differences_name_the_fields_and_only_the_lines_that_differ() -> None:
    there = preimage(base="sha256:2", dockerfile="FROM a\nRUN c\n", files={"f": "2", "g": "3"})
    fields = {each.field: (each.here, each.there) for each in differences(preimage(), there)}
    assert fields == {
        "base": ("sha256:1", "sha256:2"),
        "dockerfile": ("RUN b", "RUN c"),
        "files/f": ("1", "2"),
        "files/g": ("", "3"),
    }
    assert differences(preimage(), preimage()) == ()
    assert differences(preimage(), None)[0].field == "preimage"


def test_a_dockerfile_in_another_order_is_different() -> None:
    assert differences(preimage(), preimage(dockerfile="RUN b\nFROM a\n"))[0].field == "dockerfile"


def image(the_key: str, tag: str, text: str = "{}", **labels: str) -> Image:
    own = {KEY: the_key, PREIMAGE: text, TOOL: "jq", **labels}
    return Image(id="1" * 64, tags=(tag,), labels=own, size=100, created=NOW)


def test_an_image_with_our_labels_under_another_name_is_not_ours() -> None:
    ours, derived = image(key("a"), tag_of(key("a"))), image(key("a"), "localhost/mine:1")
    wrong = image(key("b"), tag_of(key("a")))
    engine = FakeEngine({"1": ours, "2": derived, "3": wrong})
    assert [each.key for each in entries(engine)] == [key("a")]  # type: ignore[arg-type]


def test_a_hit_has_the_whole_key_and_is_young_enough() -> None:
    definition = ImageDefinition(dockerfile="", files={}, preimage="{}", key=key("a"))
    other = key("a")[:-1] + "b"
    engine = FakeEngine({definition.tag: image(other, definition.tag)})
    assert find(engine, key("a")) is None  # type: ignore[arg-type]
    engine = FakeEngine({definition.tag: image(key("a"), definition.tag)})
    assert find(engine, key("a")) is not None  # type: ignore[arg-type]
    assert find(engine, key("a"), not_before=NOW + 1) is None  # type: ignore[arg-type]


def test_the_registry_that_podman_adds_is_not_part_of_a_tag() -> None:
    assert tag_in(image(key("a"), f"localhost/{tag_of(key('a'))}")) == tag_of(key("a"))
    assert tag_in(image(key("a"), f"docker.io/library/{tag_of(key('a'))}")) == tag_of(key("a"))
    assert tag_in(image(key("a"), "localhost/other:1")) is None


def test_verify_finds_what_disagrees() -> None:
    import hashlib

    text = msgspec.json.encode(preimage()).decode()
    good = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    assert faults("podman", image(good, tag_of(good), text)) == []
    assert "not the hash" in faults("podman", image(key("a"), tag_of(key("a")), text))[0].problem
    assert "does not belong to its key" in faults("podman", image(good, tag_of(key("b")), text))[0].problem
    made.note_made("podman", good, "2" * 64)
    assert "not what was built" in faults("podman", image(good, tag_of(good), text))[0].problem
    made.note_made("podman", good, "1" * 64)
    assert verify(FakeEngine({"1": image(good, tag_of(good), text)})) == (1, [])  # type: ignore[arg-type]


def test_last_use_is_remembered_by_engine_and_its_loss_is_no_error() -> None:
    assert used.last_use("podman", key("a")) is None
    before = time.time()
    used.note_use("podman", key("a"), "jq", "jq.toml")
    used.note_use("podman", key("a"), "other", "other.toml")
    use = used.last_use("podman", key("a"))
    assert use is not None
    assert use.last >= before - 1
    assert use.asked == {"jq": "jq.toml", "other": "other.toml"}
    assert used.last_use("docker", key("a")) is None
    used.forget("podman", key("a"))
    used.forget("podman", key("a"))
    assert used.last_use("podman", key("a")) is None


def test_old_packages_and_archives_of_bases_that_nothing_needs_go() -> None:
    kept, old = (
        base.archive_of("runtime", bases.base("runtime", "arm64", "trixie").digest),
        base.archive_of("runtime", "1"),
    )
    package = host.packages_dir() / "jq_1_amd64.deb"
    for path in (kept, old, package):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
        os.utime(path, (0, 0))
    engine = FakeEngine()
    for dry_run in (True, False):
        removed = collect.collect(engine, collect.Limits(older_than=DAY), dry_run=dry_run)
        assert [(each.what, each.size) for each in removed] == [("1 fetched packages", 5), ("1 archives of bases", 5)]
        assert old.exists() == dry_run
    assert kept.exists()
    assert not package.exists()
