"""A request in the words of each engine: nothing that was asked for is left out, no secret is in an argument."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from tsandbox.engine import building, podman
from tsandbox.engine.containers import bind, cpu_quota, parse_state
from tsandbox.engine.docker import oci_name
from tsandbox.engine.docker_api import container_config
from tsandbox.engine.images import is_id, parse_image, timestamp
from tsandbox.engine.protocol import BuildRequest, ContainerRequest, Mount
from tsandbox.errors import BuildFailed, UsageError

FULL = ContainerRequest(
    image="localhost/x:1",
    argv=["/bin/tool", "--flag"],
    name="tsandbox-1",
    labels={"io.tsandbox.run": "1"},
    env={"TOKEN": "s3cret", "KEY": "one\ntwo"},
    mounts=[Mount(source=Path("/in"), target="/in"), Mount(source=Path("/out"), target="/out", read_only=False)],
    tmpfs={"/tmp": "size=1m", "/run": ""},
    workdir="/out",
    user="1000:1000",
    network="egress",
    memory=2 << 30,
    cpus=1.5,
    pids=100,
    read_only_root=True,
)


def test_docker_is_asked_for_all_of_it() -> None:
    config = container_config(FULL, ulimits="nofile=100:200")
    host = config["HostConfig"]
    assert config["Entrypoint"] == []
    assert config["Cmd"] == ["/bin/tool", "--flag"]
    assert config["Env"] == ["KEY=one\ntwo", "TOKEN=s3cret"]
    assert (config["User"], config["WorkingDir"]) == ("1000:1000", "/out")
    assert host["NetworkMode"] == "bridge"
    assert (host["Memory"], host["MemorySwap"]) == (2 << 30, 2 << 30)
    assert host["CpuQuota"] / host["CpuPeriod"] == 1.5
    assert host["PidsLimit"] == 100
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["Init"]
    assert host["ReadonlyRootfs"]
    assert [mount["ReadOnly"] for mount in host["Mounts"]] == [True, False]
    assert host["Ulimits"] == [{"Name": "nofile", "Soft": 100, "Hard": 200}]


def test_podman_is_asked_for_all_of_it_without_any_value_of_the_environment() -> None:
    words = podman._create_options(FULL)
    text = " ".join(words)
    for part in (
        "--network private", "--memory 2147483648", "--memory-swap 2147483648", "--cpu-quota 150000",
        "--pids-limit 100", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only", "--init",
        "--user 1000:1000", "--workdir /out", "--tmpfs /tmp:size=1m", "--tmpfs /run", "--pull=never",
        "--http-proxy=false",
    ):  # fmt: skip
        assert part in text, part
    assert "s3cret" not in text
    assert "--privileged" not in text
    assert "host" not in words


def test_no_network_is_the_default_of_both() -> None:
    plain = ContainerRequest(image="x", argv=["y"], name="z", labels={})
    assert container_config(plain, ulimits=None)["HostConfig"]["NetworkMode"] == "none"
    words = podman._create_options(plain)
    assert words[words.index("--network") + 1] == "none"


def test_podman_gets_values_of_several_lines_another_way() -> None:
    plain, multiline = podman._split_environment(FULL.env)
    assert plain == b"TOKEN=s3cret\n"
    assert multiline == {"KEY": "one\ntwo"}


def test_a_build_shows_no_value_of_an_argument() -> None:
    request = BuildRequest(
        context=Path("/c"),
        dockerfile=Path("/c/Dockerfile"),
        tag="x:1",
        labels={"b": "2", "a": "1"},
        platform="linux/amd64",
        build_args={"http_proxy": "http://me:pa55word@proxy.example.com"},
        secrets={"token": Path("/c/token")},
        no_cache=True,
        network="host",
    )
    words = building.shared_options(request)
    assert "pa55word" not in " ".join(words)
    assert words[words.index("--build-arg") + 1] == "http_proxy"
    assert [words[i + 1] for i, word in enumerate(words) if word == "--label"] == ["a=1", "b=2"]
    assert "id=token,src=/c/token" in words
    assert "--no-cache" in words
    assert words[words.index("--network") + 1] == "host"


@pytest.mark.parametrize("cpus", [0.5, 1, 2, 0.01, 3.75])
def test_a_share_of_processors_is_a_quota(cpus: float) -> None:
    assert cpu_quota(cpus) == cpus * 100_000


def test_a_path_cannot_change_the_options_of_a_mount() -> None:
    assert bind(Mount(source=Path("/a b"), target="/c")) == "type=bind,src=/a b,dst=/c,ro"
    with pytest.raises(UsageError):
        bind(Mount(source=Path("/a,rw"), target="/c"))
    with pytest.raises(UsageError):
        podman._volume(Mount(source=Path("/a:rw"), target="/c"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-01-02T03:04:05Z", 1767323045.0),
        ("2026-01-02T03:04:05.123456789Z", 1767323045.123456),
        ("2026-01-02T03:04:05.5+00:00", 1767323045.5),
        ("2026-01-02T04:04:05.1+01:00", 1767323045.1),
        ("0001-01-01T00:00:00Z", -62135596800.0),
    ],
)
def test_times_with_nanoseconds_are_read(text: str, seconds: float) -> None:
    assert timestamp(text) == pytest.approx(seconds)


def test_ids_are_told_from_names() -> None:
    assert is_id("sha256:" + "a" * 64)
    assert is_id("0" * 64)
    assert not is_id("localhost/x:" + "a" * 64)
    assert not is_id("abc")


def test_an_image_without_tags_and_labels_is_read() -> None:
    image = parse_image(
        {"Id": "sha256:abc", "RepoTags": None, "Config": None, "Size": None, "Created": "2026-01-02T03:04:05Z"}
    )
    assert (image.id, image.tags, image.labels, image.size, image.digest) == ("abc", (), {}, 0, None)


def test_the_state_of_a_container_is_read() -> None:
    entry = {
        "Id": "abc",
        "State": {"Running": False, "ExitCode": 137, "OOMKilled": True},
        "Config": {"Labels": {"a": "b"}},
        "Created": "2026-01-02T03:04:05Z",
    }
    state = parse_state(entry)
    assert (state.running, state.exit_code, state.oom_killed, state.labels) == (False, 137, True, {"a": "b"})
    assert parse_state({**entry, "State": {"Running": True, "ExitCode": 0}}).exit_code is None


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("localhost:5000/x:1", True), ("127.0.0.1/x", True), ("[::1]:5000/x", True),
        ("registry.example.com/x", False), ("localhost.example.com:5000/x", False),
    ],
)  # fmt: skip
def test_only_a_registry_on_this_machine_may_speak_plain_http(remote: str, expected: bool) -> None:
    assert podman.on_loopback(remote) is expected


def archive(path: Path, index: object) -> Path:
    data = json.dumps(index).encode()
    with tarfile.open(path, "w") as tar:
        entry = tarfile.TarInfo("index.json")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    return path


def test_the_name_in_an_archive_is_found(tmp_path: Path) -> None:
    named = {"manifests": [{"annotations": {"org.opencontainers.image.ref.name": "localhost/x:1"}}]}
    assert oci_name(archive(tmp_path / "named.tar", named)) == "localhost/x:1"
    assert oci_name(archive(tmp_path / "bare.tar", {"manifests": [{}]})) is None


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"no archive at all")
    with pytest.raises(BuildFailed):
        oci_name(tmp_path / "x.tar")
    with pytest.raises(BuildFailed):
        oci_name(archive(tmp_path / "odd.tar", {"manifests": []}))
