"""The lines that are rendered for dnf, zypper and pacman, run by the real dnf, zypper and pacman.

Their distributions' images cannot be had without a registry, but Debian packages all three: a Debian image with one of
them and a tiny repository in a directory takes the place of the pinned image.
"""

import hashlib
import os
from pathlib import Path

import pytest

from tsandbox.build import ensure_base, ensure_image
from tsandbox.derive import ContainerSpec, bases, derive
from tsandbox.engine import BuildRequest, Engine
from tsandbox.errors import BuildFailed
from tsandbox.plan import Catalog, load, select
from tsandbox.recipe import Recipe, linux
from tsandbox.recipe.target import host_arch

from .conftest import run_in

RPM = r"""
RUN mkdir -p /repo /root/rpmbuild/SPECS && cd /root/rpmbuild && printf '%s\n' \
      'Name: greeting' 'Version: 1' 'Release: 1' 'Summary: says hello' 'License: MIT' 'AutoReqProv: no' \
      '%description' 'says hello' '%install' 'mkdir -p %{buildroot}/usr/bin' \
      'printf "#!/bin/sh\necho hello\n" > %{buildroot}/usr/bin/greeting' 'chmod 755 %{buildroot}/usr/bin/greeting' \
      '%files' '/usr/bin/greeting' > SPECS/greeting.spec \
 && rpmbuild -bb SPECS/greeting.spec --quiet && cp RPMS/*/*.rpm /repo && createrepo_c --quiet /repo
"""
BASES = {
    "rhel": r"""RUN apt-get update && apt-get install --yes --no-install-recommends dnf rpm createrepo-c
RUN mkdir -p /etc/dnf/vars /etc/yum.repos.d && echo 40 > /etc/dnf/vars/releasever \
 && printf '[tiny]\nname=tiny\nbaseurl=file:///repo\ngpgcheck=0\n' > /etc/yum.repos.d/tiny.repo
"""
    + RPM,
    "suse": r"""RUN apt-get update && apt-get install --yes --no-install-recommends zypper rpm createrepo-c
RUN mkdir -p /etc/rpm /etc/zypp/repos.d && echo '%_dbpath /var/lib/rpm' > /etc/rpm/macros.tiny \
 && printf '[tiny]\nname=tiny\nbaseurl=dir:///repo\nenabled=1\ngpgcheck=0\n' > /etc/zypp/repos.d/tiny.repo
"""
    + RPM,
    "arch": r"""RUN apt-get update && apt-get install --yes --no-install-recommends pacman-package-manager
RUN mkdir -p /repo /tmp/p/usr/bin /tmp/d/greeting-1-1 /var/lib/pacman && cd /tmp/p \
 && printf '#!/bin/sh\necho hello\n' > usr/bin/greeting && chmod 755 usr/bin/greeting \
 && printf 'pkgname = greeting\npkgver = 1-1\npkgdesc = says hello\narch = any\nsize = 30\n' > .PKGINFO \
 && tar -cf /repo/greeting-1-1-any.pkg.tar .PKGINFO usr \
 && printf '%%%s%%\n%s\n\n' FILENAME greeting-1-1-any.pkg.tar NAME greeting VERSION 1-1 ARCH any \
      CSIZE "$(stat -c %s /repo/greeting-1-1-any.pkg.tar)" \
      SHA256SUM "$(sha256sum < /repo/greeting-1-1-any.pkg.tar | cut -c1-64)" > /tmp/d/greeting-1-1/desc \
 && tar -czf /repo/tiny.db -C /tmp/d greeting-1-1 \
 && printf '[options]\nArchitecture = auto\nSigLevel = Never\n[tiny]\nServer = file:///repo\n' > /etc/pacman.conf
""",
}


@pytest.fixture(params=BASES)
def family(request: pytest.FixtureRequest, podman: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A family whose pinned image is ours."""
    name: str = request.param
    base = _base(podman, BASES[name], tmp_path)
    pins = bases._pins()
    changed = {**pins["families"], name: {"image": base.rpartition("@")[0], "digest": base.rpartition("@")[2]}}
    monkeypatch.setitem(pins, "families", changed)
    return name


def test_a_package_is_installed_by_the_familys_own_manager(family: str, podman: Engine, tmp_path: Path) -> None:
    image = ensure_image(podman, _spec(family, "greeting", tmp_path))
    assert run_in(podman, image.reference, ["greeting"]) == "hello\n"
    left = run_in(
        podman, image.reference, ["sh", "-c", "ls /var/cache/dnf /var/cache/zypp /var/cache/pacman/pkg 2> /dev/null"]
    )
    assert left == ""
    with pytest.raises(BuildFailed, match="no package is called 'greetink'") as raised:
        ensure_image(podman, _spec(family, "greetink", tmp_path))
    assert raised.value.line == 6


def _spec(family: str, package: str, directory: Path) -> ContainerSpec:
    action = {"rhel": "dnf_install", "suse": "zypper_install", "arch": "pacman_install"}[family]
    path = directory / f"{package}.toml"
    path.write_text(
        f'[metadata]\nname = "{package}"\ndescription = "d"\n[[steps]]\naction = "{action}"\npackages = ["{package}"]\n'
    )
    recipe = load(path)
    assert isinstance(recipe, Recipe)
    target = linux(family)
    return derive(select(recipe, target, catalog=Catalog([])), target)


def _base(engine: Engine, lines: str, directory: Path) -> str:
    """The Debian image with another family's manager; it stays in the test home, named by its content."""
    ensure_base(engine, "builder", host_arch())
    text = f"FROM {bases.base('builder', host_arch()).image}\n{lines}"
    name = "localhost/tsandbox-test-family"
    tag = f"{name}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    image = engine.image(tag)
    if image is None:
        context = directory / "family"
        context.mkdir()
        (context / "Dockerfile").write_text(text)
        request = BuildRequest(
            context=context,
            dockerfile=context / "Dockerfile",
            tag=tag,
            labels={},
            platform=f"linux/{host_arch()}",
            build_args={key: os.environ[key] for key in ("http_proxy", "https_proxy") if key in os.environ},
        )
        image = engine.build(request, on_line=lambda _: None)
    assert image.digest is not None
    return f"{name}@{image.digest}"
