"""What a build is told about this host."""

import re
from pathlib import Path

import pytest

from tsandbox.build import archive, host
from tsandbox.derive import bases
from tsandbox.errors import UsageError

DOCKERFILE = 'FROM a\nRUN one \\\n && two\n# RUN not this\nCOPY ["x", "/x"]\nRUN three\n'


def settings(**changes: object) -> host.HostSettings:
    given: dict[str, object] = {"files": {}, "proxies": {}, "packages": None, "loopback": False, **changes}
    return host.HostSettings(**given)  # type: ignore[arg-type]


def test_buildkit_is_given_mounts_in_every_step_and_nowhere_else() -> None:
    text = host.dressed(DOCKERFILE, settings(files={"/etc/x.conf": Path("/tmp/x")}, packages=Path("/p")))
    mounts = (
        "--mount=type=secret,id=tsandbox-etc-x-conf,target=/etc/x.conf,mode=0444,required=true "
        "--mount=type=cache,id=tsandbox-packages-ID,target=/var/cache/apt/shared"
    )
    text = re.sub(r"(?<=tsandbox-packages-)[0-9a-f]{12}", "ID", text)
    assert text == DOCKERFILE.replace("RUN one", f"RUN {mounts} one").replace("RUN three", f"RUN {mounts} three")


def test_without_settings_the_dockerfile_is_left_alone() -> None:
    assert host.dressed(DOCKERFILE, settings()) == DOCKERFILE


def test_apt_learns_of_proxies_exceptions_and_certificates() -> None:
    proxies = {"http_proxy": "http://p.example.com:3128/", "no_proxy": "localhost,.example.com,mirror.example.com"}
    conf = host.apt_conf(proxies, ca=True).splitlines()
    assert 'Acquire::http::Proxy "http://p.example.com:3128";' in conf
    assert 'Acquire::http::Proxy::mirror.example.com "DIRECT";' in conf
    assert not any("https::Proxy " in line for line in conf)
    assert not any("::.example" in line for line in conf)
    assert 'Acquire::https::CaInfo "/etc/apt/host-ca.crt";' in conf


@pytest.mark.parametrize("proxy", ['http://a"; Dir::Bin "x', "not a url", "http://a b"])
def test_a_proxy_that_would_write_other_settings_is_refused(proxy: str) -> None:
    with pytest.raises(UsageError, match="http_proxy"):
        host.apt_conf({"http_proxy": proxy}, ca=False)


def test_lower_case_wins_and_upper_case_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://upper.example.com")
    monkeypatch.setenv("HTTPS_PROXY", "http://secure.example.com")
    monkeypatch.setenv("http_proxy", "http://lower.example.com")
    assert host.proxies() == {
        "http_proxy": "http://lower.example.com",
        "https_proxy": "http://secure.example.com",
    }


def test_a_ca_bundle_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TSANDBOX_CA_BUNDLE", str(tmp_path / "none.pem"))
    with pytest.raises(UsageError, match="is not a file"):
        host.ca_bundle()


@pytest.mark.parametrize(
    ("mirror", "near"),
    [("http://localhost:3142/debian", True), ("http://127.0.0.1/debian", True), ("http://m.example.com/debian", False)],
)
def test_what_is_on_this_machine_needs_its_network(mirror: str, near: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSANDBOX_APT_MIRROR", mirror)
    assert host.on_loopback() is near


DEBIAN = 'ID=debian\nVERSION_ID="12"\n'
DEB822 = """Types: deb deb-src
URIs: http://mirror.example.com/debian/
Suites: bookworm bookworm-updates
Components: main
# Comment: yes

Enabled: no
Types: deb
URIs: http://disabled.example.com/debian
Suites: bookworm

Types: deb
URIs: http://security.example.com/debian-security
Suites: bookworm-security
"""
ONE_LINE = """# deb http://commented.example.com/debian bookworm main
deb [arch=amd64 signed-by=/x] http://mirror.example.com/debian bookworm main contrib
deb-src http://source.example.com/debian bookworm main
deb https://vendor.example.com/apt stable-vendor main
deb http://security.example.com/debian-security bookworm-security main
"""


@pytest.mark.parametrize(("name", "text"), [("debian.sources", DEB822), ("debian.list", ONE_LINE)])
def test_the_mirror_is_that_of_the_debian_we_run_on(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / name).write_text(text)
    (tmp_path / "os-release").write_text(DEBIAN)
    assert archive.mirror(tmp_path, tmp_path / "os-release") == archive.Mirror(
        main="http://mirror.example.com/debian", security="http://security.example.com/debian-security"
    )


def test_elsewhere_the_base_decides(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text(ONE_LINE)
    (tmp_path / "os-release").write_text("ID=fedora\n")
    assert archive.mirror(tmp_path, tmp_path / "os-release") is None
    assert archive.mirror(tmp_path, tmp_path / "nothing") is None


def test_a_chosen_mirror_goes_before_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSANDBOX_APT_MIRROR", "https://u:p@m.example.com/debian/")
    assert archive.mirror() == archive.Mirror(
        main="https://u:p@m.example.com/debian", security="https://u:p@m.example.com/debian-security"
    )
    monkeypatch.setenv("TSANDBOX_APT_MIRROR", "ftp://m.example.com/debian")
    with pytest.raises(UsageError, match="TSANDBOX_APT_MIRROR"):
        archive.mirror()


def test_sources_of_a_mirror_hold_the_security_pocket_and_the_keyring() -> None:
    text = archive.sources(
        bases.definition("builder", "amd64", "trixie"), archive.Mirror(main="http://m.example.com", security="http://s")
    )
    assert "URIs: http://s\nSuites: trixie-security\n" in text
    assert text.count("Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg") == 2
