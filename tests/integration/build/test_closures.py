"""A minimal image holds all that its packages need, proved by running them, and nothing that was not declared."""

from typing import NamedTuple

import pytest

from tsandbox.build import ensure_base
from tsandbox.derive import bases
from tsandbox.engine import Engine
from tsandbox.recipe.target import host_arch

from .conftest import WriteRecipe, built, run_in


class Case(NamedTuple):
    packages: tuple[str, ...]
    script: str
    says: tuple[str, ...]
    # Nothing that was declared brings it along.
    no_bash: bool = True


CASES = {
    # Small ones that share no dependency, so that none covers for another.
    "small": Case(
        ("jq", "vim-tiny", "memcached"),
        """echo '{"a": [1, 2]}' | jq -c .a
        vi --version | head -n 1; readlink -f /usr/bin/vi
        memcached -V; id memcache""",
        ("[1,2]", "VIM - Vi IMproved", "/usr/bin/vim.tiny", "memcached 1.", "(memcache)"),
        no_bash=False,  # memcached needs perl, for its tool of statistics
    ),
    # An alternative that the builder has too, a directory of logs that no package owns, and what goes without saying.
    "system": Case(
        ("gawk", "less", "redis-server", "sudo"),
        """awk --version | head -n 1; readlink -f /usr/bin/pager
        stat -c '%n is of %U' /var/log/redis; cat /etc/pam.d/common-auth; redis-server --version""",
        ("GNU Awk", "/usr/bin/less", "/var/log/redis is of redis", "pam_unix.so", "Redis server"),
    ),
    "git": Case(
        ("git",),
        """cd /tmp && git init -q repo && cd repo && echo x > x && git add x
        git -c user.name=a -c user.email=a@example.com commit -qm first && git log --format=%s && git fsck""",
        ("first",),
        no_bash=False,
    ),
    "python": Case(
        ("python3",),
        """python3 -c 'import ssl, sqlite3, ctypes, zlib, lzma, bz2, curses, hashlib
print(len(ssl.create_default_context().get_ca_certs()) > 50)
print(sqlite3.connect(":memory:").execute("select 6 * 7").fetchone()[0])'""",
        ("True", "42"),
    ),
    "servers": Case(
        ("nginx", "postgresql-client", "iputils-ping"),
        """sed 's/^user .*/user root;/' /etc/nginx/nginx.conf > /tmp/nginx.conf  # no chown, no port 80 here
        rm /etc/nginx/sites-enabled/default
        nginx -t -c /tmp/nginx.conf 2>&1; ls -ld /var/log/nginx; id www-data
        psql --version; pg_dump --version""",
        ("test is successful", "/var/log/nginx", "(www-data)", "psql (PostgreSQL)", "pg_dump (PostgreSQL)"),
        no_bash=False,  # postgresql-client-common is written in perl
    ),
    "node": Case(
        ("nodejs",),
        """node -e 'console.log(process.versions.openssl.length > 0, [1, 2].map(x => x * 2), new Intl.NumberFormat("de")
            .format(1234.5))'""",
        ("true", "[ 2, 4 ]", "1.234,5"),
    ),
    "compiler": Case(
        ("build-essential",),
        r"""cd /tmp
        echo '#include <stdio.h>
int main(void) { return printf("compiled %d", 6 * 7) < 0; }' > a.c && gcc -O2 -o a a.c && ./a
        echo '#include <iostream>
int main() { std::cout << "c++ too"; }' > b.cc && g++ -o b b.cc && ./b
        printf 'all:\n\t@echo made\n' > Makefile && make""",
        ("compiled 42", "c++ too", "made"),
        no_bash=False,
    ),
    "docker": Case(
        ("docker.io",),
        "dockerd --version && docker --version && containerd --version && runc --version; grep ^docker: /etc/group",
        ("Docker version", "containerd", "runc version", "docker:x:"),
        no_bash=False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_installed_runs_in_a_minimal_image(name: str, podman: Engine, recipe: WriteRecipe) -> None:
    _check(podman, CASES[name], recipe)


@pytest.mark.parametrize("name", ["small", "python"])
def test_docker_makes_the_same(name: str, request: pytest.FixtureRequest, recipe: WriteRecipe) -> None:
    from tests.integration.conftest import usable
    from tsandbox.engine import connect

    usable("docker", request)
    _check(connect("docker"), CASES[name], recipe)


def _check(engine: Engine, case: Case, recipe: WriteRecipe) -> None:
    image = built(engine, recipe(*case.packages))
    ended = run_in(engine, image.reference, ["sh", "-ec", case.script])
    assert ended.code == 0, ended
    assert [word for word in case.says if word not in ended] == []
    listed = run_in(engine, image.reference, ["cat", "/usr/share/tsandbox/packages.tsv"])
    assert set(case.packages) <= {line.split("\t")[0] for line in listed.splitlines()}
    if case.no_bash:
        assert_bare(engine, image.reference)


def assert_bare(engine: Engine, image: str) -> None:
    """What is not declared is not there, under no name and in no directory."""
    names = " -o ".join(f"-name {name}" for name in ("bash", "perl", "apt", "apt-get", "curl"))
    found = run_in(engine, image, ["sh", "-c", f"find / -xdev \\( {names} \\) -type f 2> /dev/null"])
    assert found == ""


def test_the_runtime_base_alone_is_bare_and_works(engine: Engine, recipe: WriteRecipe) -> None:
    image = built(engine, recipe(name="nothing", extra='[[steps]]\naction = "group_add"\ngroup = "testers"\n'))
    assert_bare(engine, image.reference)
    script = """date -d @0 +%Z; TZ=Europe/Berlin date -d @0 +%H
    grep -c BEGIN /etc/ssl/certs/ca-certificates.crt; id; grep testers /etc/group"""
    ended = run_in(engine, image.reference, ["sh", "-ec", script])
    assert ended.code == 0, ended
    zone, hour, certificates, who, group = ended.splitlines()
    assert (zone, hour) == ("UTC", "01")
    assert who.startswith("uid=0(root) gid=0(root)")
    assert int(certificates) > 100
    assert group.startswith("testers:x:9")


def test_files_keep_what_makes_them_special(podman: Engine, recipe: WriteRecipe) -> None:
    """File capabilities, set-user-id bits, symlinks, hard links, modes and owners of directories."""
    image = built(podman, recipe("iputils-ping", "libcap2-bin", "sudo", "perl-base", name="special"))
    script = """getcap /usr/bin/ping
    stat -c '%a %U' /usr/bin/sudo
    stat -c '%a' /tmp /run/lock
    readlink /etc/alternatives/../localtime
    ls -i /usr/bin/perl /usr/bin/perl5* | awk '{ print $1 }' | sort -u | wc -l
    stat -c '%a %U:%G' /etc/sudoers /etc/sudoers.d"""
    ended = run_in(podman, image.reference, ["sh", "-ec", script])
    assert ended.code == 0, ended
    assert ended.splitlines() == [
        "/usr/bin/ping cap_net_raw=ep",
        "4755 root",
        "1777",
        "1777",
        "/usr/share/zoneinfo/Etc/UTC",
        "1",
        "440 root:root",
        "755 root:root",
    ]


def test_the_manual_of_a_package_may_lie_elsewhere(podman: Engine) -> None:
    """As OpenJDK's does: its alternatives link to it from a directory of a manual that we leave out."""
    ensure_base(podman, "builder", host_arch())
    script = """touch /opt/it /opt/it.1.gz
    update-alternatives --install /usr/bin/it it /opt/it 1 --slave /usr/share/man/man1/it.1.gz it.1.gz /opt/it.1.gz"""
    ended = run_in(podman, bases.base("builder", host_arch()).image, ["sh", "-ec", script])
    assert ended.code == 0, ended


def test_the_full_profile_is_a_complete_debian(engine: Engine, recipe: WriteRecipe) -> None:
    image = built(engine, recipe("jq", name="full-jq"), "full")
    script = """jq --version; dpkg-query -W jq; apt-get --version | head -n 1
    ls /var/lib/apt/lists /var/cache/apt/archives"""
    ended = run_in(engine, image.reference, ["bash", "-c", script])
    assert ended.code == 0, ended
    assert "jq-1." in ended
    assert "apt 2." in ended
    assert ".deb" not in ended
    assert "Packages" not in ended
