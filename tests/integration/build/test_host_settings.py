"""Mirror, proxy and CA bundle of this host serve every step of a build, and leave no trace in the image."""

import json
import os
import subprocess
import time
from pathlib import Path

from tsandbox.derive import image_key
from tsandbox.engine import Engine

from ..conftest import Cli
from .conftest import WriteRecipe, run_in, spec_of
from .servers import Proxy, TlsServer


def test_a_mirror_behind_tls_with_a_ca_of_its_own(
    cli: Cli, engine: Engine, recipe: WriteRecipe, tls_server: TlsServer
) -> None:
    path = recipe("tree", name="by-mirror")
    secret = tls_server.url.replace("https://", "https://qx7user:pass-word@")
    env = {"TSANDBOX_APT_MIRROR": f"{secret}/debian"}
    distrusted = json.loads(cli("build", path, "--no-cache", "--json", env=env, code=6).stdout)["error"]
    assert "not trusted" in distrusted["message"]
    assert "TSANDBOX_CA_BUNDLE" in distrusted["hint"]
    assert "pass-word" not in json.dumps(distrusted)
    env["TSANDBOX_CA_BUNDLE"] = str(tls_server.ca)
    built = json.loads(cli("build", path, "--no-cache", "--json", env=env).stdout)
    assert any(asked.startswith("/debian/dists/") for asked in tls_server.asked)
    assert any(asked.startswith("/debian-security/dists/") for asked in tls_server.asked)
    # The key is that of a build without any of this.
    assert built["key"] == image_key(spec_of(path))
    assert "tree v" in run_in(engine, built["image"], ["tree", "--version"])
    _assert_no_trace(engine, built["image"], ["qx7user", "pass-word", tls_server.url.removeprefix("https://")])
    assert "pass-word" not in Path(built["log"]).read_text()


def test_the_full_profile_keeps_no_settings_either(
    cli: Cli, engine: Engine, recipe: WriteRecipe, tls_server: TlsServer
) -> None:
    env = {
        "TSANDBOX_APT_MIRROR": f"{tls_server.url.replace('https://', 'https://qx7user:pass-word@')}/debian",
        "TSANDBOX_CA_BUNDLE": str(tls_server.ca),
    }
    path = recipe("tree", name="full-mirror")
    image = json.loads(cli("build", path, "--profile", "full", "--no-cache", "--json", env=env).stdout)["image"]
    _assert_no_trace(engine, image, ["qx7user", "pass-word", tls_server.url.removeprefix("https://")])
    script = """cat /etc/apt/apt.conf.d/99host /etc/apt/host-ca.crt /etc/apt/host-packages.sh
    ls /var/cache/apt/shared; find /var/cache/apt/archives -maxdepth 1 -name '*.deb'"""
    assert run_in(engine, image, ["sh", "-c", script]) == ""


def test_a_proxy_with_a_password_and_packages_fetched_once(
    cli: Cli, engine: Engine, recipe: WriteRecipe, proxy: Proxy, tmp_path: Path
) -> None:
    # Packages are shared by those who share a cache directory; other tests empty theirs.
    env = {"HTTP_PROXY": proxy.url, "http_proxy": proxy.url, "TSANDBOX_CACHE_DIR": str(tmp_path / "cache")}
    # A group of its own comes before the packages, so no engine remembers the step that fetches from an earlier run.
    group = f'[[steps]]\naction = "group_add"\ngroup = "g{time.time_ns()}"\n'
    path = recipe("figlet", name="by-proxy", extra=group)
    built = json.loads(cli("build", path, "--json", env=env).stdout)
    assert any("/dists/" in asked for asked in proxy.asked)
    assert proxy.credentials == {"Basic Y2Fyb2w6d29uZGVyLWxhbmQ="}
    _assert_no_trace(engine, built["image"], ["carol", "wonder-land", proxy.url.rpartition("@")[2]])
    # A second image that needs the same package: the index is looked at, the package is there.
    before = len(proxy.packages())
    more = recipe("figlet", "rolldice", name="by-proxy-too", extra=group)
    second = json.loads(cli("build", more, "--json", env=env).stdout)
    assert [name for name in proxy.packages()[before:] if name.startswith("figlet_")] == []
    for image in (built["image"], second["image"]):
        engine.remove_image(image)


def test_a_damaged_shared_package_is_noticed(
    podman_cli: Cli, podman: Engine, recipe: WriteRecipe, tmp_path: Path
) -> None:
    env = {"TSANDBOX_CACHE_DIR": str(tmp_path / "cache")}
    path = recipe("tree", name="damaged", extra='[[steps]]\naction = "group_add"\ngroup = "damaged"\n')
    image = json.loads(podman_cli("build", path, "--no-cache", "--json", env=env).stdout)["image"]
    [package] = (tmp_path / "cache/packages").glob("tree_*.deb")
    content = bytearray(package.read_bytes())
    content[len(content) // 2] ^= 1
    package.write_bytes(content)
    error = json.loads(podman_cli("build", path, "--no-cache", "--json", env=env, code=6).stdout)["error"]
    assert "was damaged; it has been removed" in error["message"]
    assert not package.exists()
    assert json.loads(podman_cli("build", path, "--no-cache", "--json", env=env).stdout)["status"] == "passed"
    podman.remove_image(image)


def _assert_no_trace(engine: Engine, image: str, words: list[str]) -> None:
    """Neither in its labels, configuration and history, nor in any file."""
    found = engine.image(image)
    assert found is not None
    client = {"podman": "podman", "docker": engine.facts().adjustments.get("client", "docker")}[engine.name]
    env = {**os.environ, **{k: v for k, v in engine.facts().adjustments.items() if k.isupper()}}
    for args in (["image", "inspect", image], ["history", "--no-trunc", image]):
        told = subprocess.run([client, *args], env=env, capture_output=True, text=True, check=True).stdout
        assert [word for word in words if word in told] == []
    script = (
        "grep -rlF "
        + " ".join(f"-e '{word}'" for word in words)
        + " /etc /usr /var /opt /root /home /srv /tsandbox; true"
    )
    assert "/" not in run_in(engine, image, ["sh", "-c", f"({script}) 2> /dev/null"])
