"""The checks that need no engine, and how each finding of an engine is judged."""

import errno
import resource
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import msgspec
import pytest

from tsandbox.build.doctor import engines, host, outside
from tsandbox.build.doctor.check import Check
from tsandbox.build.doctor.fix import fix
from tsandbox.derive import bases
from tsandbox.engine.protocol import EngineFacts
from tsandbox.errors import EngineNotInstalled, EngineNotRunning, EnginePermission, TsandboxError

FACTS = EngineFacts(
    name="podman", version="4.3.1", api="4.3.1", rootless=True, storage_driver="overlay", storage_root="/x",
    cgroups="v2", runtime="crun",
)  # fmt: skip


@pytest.fixture(autouse=True)
def plain_host(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("http_proxy", "https_proxy", "no_proxy", "tsandbox_ca_bundle", "tsandbox_apt_mirror", "tsandbox_registry")
    for name in names:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def having(**changes: object) -> EngineFacts:
    return msgspec.structs.replace(FACTS, **changes)


def test_an_engine_that_cannot_be_tried_for_want_of_room_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: str, *, fresh: bool) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/state/engine")

    monkeypatch.setattr(engines, "connect", full)
    error = engines.open_engine("podman")
    assert isinstance(error, TsandboxError)
    assert engines.unusable("podman", error, needed=True).found == (
        "podman could not be tried: /state/engine: No space left on device"
    )


def test_limits_that_hold_are_named() -> None:
    check = engines.limits(FACTS)
    assert check.state == "ok"
    assert check.found.endswith("enforced: memory, cpus, pids")


def test_limits_that_do_not_hold_are_a_warning_with_a_way_out() -> None:
    check = engines.limits(having(unenforced=("memory", "pids"), cgroups="v1"))
    assert check.state == "warning"
    assert check.found.endswith("enforced: cpus")
    assert "memory, pids" in check.meaning
    assert "unified_cgroup_hierarchy" in check.fix


def test_slow_storage_is_a_warning() -> None:
    assert engines.storage(FACTS).state == "ok"
    check = engines.storage(having(storage_driver="vfs"))
    assert check.state == "warning"
    assert "overlay" in check.fix


def test_a_daemon_of_root_says_what_its_group_means() -> None:
    check = engines.rootless(having(name="docker", rootless=False))
    assert "become root" in check.meaning
    assert engines.rootless(FACTS).state == "ok"


def test_the_classic_builder_is_a_warning() -> None:
    assert engines.builder(having(buildkit=False)).state == "warning"


@pytest.mark.parametrize(
    ("error", "needed", "state"),
    [
        (EngineNotInstalled("x", hint="y"), True, "failed"),
        (EngineNotInstalled("x", hint="y"), False, "info"),
        (EngineNotRunning("x", hint="y"), False, "info"),
        (EnginePermission("x", hint="y"), False, "warning"),
        (EnginePermission("x", hint="y"), True, "failed"),
    ],
)
def test_an_unusable_engine_fails_only_where_it_is_needed(error: EngineNotInstalled, needed: bool, state: str) -> None:
    check = engines.unusable("docker", error, needed=needed)
    assert (check.state, check.fix) == (state, "y")


def sub_ids(etc: Path, text: str) -> Check:
    for name in ("subuid", "subgid"):
        (etc / name).write_text(text)
    return host.sub_ids(etc, uid=54321)


def test_sub_ids_are_counted_by_name_or_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert sub_ids(tmp_path, "54321:100000:65536\nother:1:1\n").state == "ok"
    assert sub_ids(tmp_path, "54321:100000:30000\n54321:200000:40000\n").state == "ok"
    few = sub_ids(tmp_path, "54321:100000:1000\n")
    assert few.state == "warning"
    assert "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 54321" in few.fix
    assert sub_ids(tmp_path, "broken line\n:::\n").state == "warning"
    assert host.sub_ids(tmp_path / "nothing", uid=54321).state == "warning"
    assert host.sub_ids(tmp_path, uid=0).state == "info"


def test_sub_ids_need_their_helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.shutil, "which", lambda name: None)
    check = sub_ids(tmp_path, "54321:100000:65536\n")
    assert check.state == "warning"
    assert check.fix == "sudo apt-get install uidmap"


def test_low_resource_limits_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.resource, "getrlimit", lambda name: (1024, 1024))
    check = host.ulimits()
    assert check.state == "warning"
    assert "nofile" in check.fix
    assert "nproc" not in check.fix
    monkeypatch.setattr(host.resource, "getrlimit", lambda name: (1024, resource.RLIM_INFINITY))
    assert host.ulimits().state == "ok"


@pytest.mark.parametrize(("free", "state"), [(10e9, "ok"), (3e9, "warning"), (1e8, "failed")])
def test_little_space_is_a_warning_and_none_is_a_failure(free: float, state: str) -> None:
    check = host._space("state", int(free), Path("/x"))
    assert check.state == state
    assert ("cache gc" in check.fix) is (state != "ok")


def test_places_on_one_disk_are_one_check(tmp_path: Path) -> None:
    (found,) = host.disk({"state": tmp_path / "a" / "not" / "there", "cache": tmp_path})
    assert "state, cache" in found.found


def test_a_directory_that_cannot_be_made_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TSANDBOX_STATE_DIR", str(tmp_path / "file" / "state"))
    monkeypatch.setenv("TSANDBOX_CACHE_DIR", str(tmp_path / "cache"))
    check = host.directories()
    assert check.state == "failed"
    assert "TSANDBOX_STATE_DIR" in check.fix


def test_a_password_of_a_proxy_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://me:pa55word@proxy.example.com:3128")
    check = outside.proxy()
    assert check.found == "https_proxy=http://…@proxy.example.com:3128"
    assert check.state == "ok"


def test_a_proxy_that_apt_cannot_use_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "proxy.example.com 3128")
    assert outside.proxy().state == "failed"


def test_no_proxy_and_no_bundle_are_information() -> None:
    assert outside.proxy().state == "info"
    assert outside.certificates().state == "info"
    assert outside.registry() is None


def test_a_bundle_that_is_not_there_or_holds_nothing_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TSANDBOX_CA_BUNDLE", str(tmp_path / "ca.pem"))
    assert outside.certificates().state == "failed"
    (tmp_path / "ca.pem").write_text("nothing")
    check = outside.certificates()
    assert check.state == "failed"
    assert "PEM" in check.fix


class Mirror(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(200 if self.path == f"/debian/dists/{bases.default_suite()}/InRelease" else 404)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def mirror() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Mirror) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_mirror_is_asked_for_the_suite(mirror: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSANDBOX_APT_MIRROR", f"{mirror}/debian")
    assert outside.mirror().state == "ok"
    monkeypatch.setenv("TSANDBOX_APT_MIRROR", f"{mirror}/elsewhere")
    check = outside.mirror()
    assert check.state == "warning"
    assert "HTTP 404" in check.found
    monkeypatch.setenv("TSANDBOX_APT_MIRROR", "not a url")
    assert outside.mirror().state == "failed"


def test_only_what_a_check_asks_for_is_fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSANDBOX_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TSANDBOX_CACHE_DIR", str(tmp_path / "cache"))
    assert list(fix([Check(name="disk", state="warning", found="")])) == []
    assert not (tmp_path / "state").exists()
    assert list(fix([Check(name="directories", state="failed", found="", remedy="directories")])) == []
    assert (tmp_path / "state").is_dir()


def test_a_remedy_that_fails_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TSANDBOX_STATE_DIR", str(tmp_path / "file" / "state"))
    (said,) = fix([Check(name="directories", state="failed", found="", remedy="directories")])
    assert said.startswith("could not fix directories")
