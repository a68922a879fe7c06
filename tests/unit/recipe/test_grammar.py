"""What every field accepts, and what it refuses: names as the tools themselves define them."""

import pytest

from tsandbox.recipe import grammar

PACKAGES = {
    "apt": (
        ["jq", "libstdc++6", "g++", "pkg=1.2-3", "pkg=2:1.0~rc1+b2-3", "libc6:arm64", "curl/bookworm-backports", "0ad"],
        [
            "JQ",
            "j q",
            "-y",
            "--force-yes",
            "jq-",
            "jq;reboot",
            "jq$(id)",
            "a/b/c",
            "../x",
            "./x.deb",
            "jq=",
            "a`id`",
            "",
        ],
    ),
    "dnf": (
        [
            "gcc-c++",
            "@development-tools",
            "perl(Foo::Bar)",
            "libfoo.so.1()(64bit)",
            "@nodejs:20/minimal",
            "glibc.i686",
            "jq-1.6-17.fc40.x86_64",
            "ImageMagick",
            "libX11",
        ],
        ["@", "-y", "--nogpgcheck", "gcc c++", "a*", "a;b", "a|b", "/etc/passwd", "perl(", "a>b", "a/b", ""],
    ),
    "pacman": (
        ["base-devel", "core/jq", "jq=1.7-1", "glibc>=2.38", "lib32-glibc", "gtk+", "r"],
        ["-Syu", "--noconfirm", "jq ", "../x", "a/b/c", "jq>", "a;b", "$x", ""],
    ),
    "apk": (
        ["py3-pip", "so:libfoo.so.1", "cmd:bash", "pc:zlib", "jq=1.7.1-r0", "jq~=1.7", "jq=~1", "jq@edge", "g++", "R"],
        ["-U", "--allow-untrusted", "!jq", "so:", "jq@", "jq jq", "a;b", "../x.apk", ""],
    ),
    "zypper": (
        ["gcc-c++", "pattern:devel_basis", "jq=1.7", "libopenssl-devel>=3", "patch:SUSE-1", "libstdc++6"],
        ["-y", "--no-gpg-checks", "~jq", "!jq", "+jq", "pattern:", "a b", "a;b", ""],
    ),
    "brew": (
        ["jq", "python@3.12", "owner/tap/formula", "gtk+3", "gcc"],
        ["--HEAD", "a/b", "a/b/c/d", "https://example.com/x.rb", "a b", "@3", ""],
    ),
    "brew_cask": (["docker", "visual-studio-code", "owner/tap/cask"], ["--cask", "a b", "a;b", ""]),
}


@pytest.mark.parametrize(("manager", "name"), [(m, name) for m, (good, _) in PACKAGES.items() for name in good])
def test_a_package_name_that_real_recipes_use_is_accepted(manager: str, name: str) -> None:
    assert grammar.package(manager)(name) is None


@pytest.mark.parametrize(("manager", "name"), [(m, name) for m, (_, bad) in PACKAGES.items() for name in bad])
def test_a_package_name_that_its_manager_would_read_as_something_else_is_refused(manager: str, name: str) -> None:
    assert "is not a package name" in str(grammar.package(manager)(name))


@pytest.mark.parametrize("manager", PACKAGES)
@pytest.mark.parametrize("tail", ["\n", "\0", "\x1b[31m", " --x", "\u202e", "'", '"', "\\", "&&id", "x" * 300])
def test_no_manager_accepts_what_a_shell_or_terminal_would_act_on(manager: str, tail: str) -> None:
    assert grammar.package(manager)("jq" + tail)


FIELDS: dict[str, tuple[grammar.Check, list[str], list[str]]] = {
    "name": (
        grammar.name,
        ["jq", "g++", "7zip", "@scope/tool", "python3.12", "apt_install"],
        ["", ".hidden", "../x", "a/..", "a/.b", "a b", "-x", "a/b/c", "a\n", "é"],
    ),
    "version": (
        grammar.version,
        ["1.2.3", "v1", "2024-01-01", "1.0~rc1", "1:2.3-4", "cli/v1.0", "20.10.0+dfsg1"],
        ["", "..", "1/../../etc", "1/.x", "-1", "1 2", "$(id)", "1\n"],
    ),
    "dependency": (grammar.dependency, ["jq", "openssl@3", "node@20.1"], ["", "../jq", "a/b", "jq@", "@3", "a b"]),
    "sha256": (grammar.sha256, ["0" * 64, "ABCDEF0123456789" * 4], ["", "0" * 63, "0" * 65, "g" * 64, "0" * 64 + "\n"]),
    "group": (grammar.group, ["docker", "_apt", "a-b", "samba$"], ["", "Docker", "0day", "a b", "a" * 33, "a:b", "-g"]),
    "service": (
        grammar.service,
        ["docker", "docker.service", "getty@tty1", "systemd-networkd"],
        ["", "-x", "a b", "a/b", "a;b", "$(id)"],
    ),
    "command": (
        grammar.command,
        ["docker", "/usr/bin/gcc-12", "g++", "[", "python3.12", "_x"],
        ["", "docker run", "../x", "/usr/../bin/sh", "a/b", "-x", "a;b", "a|b", "a\n"],
    ),
    "flag": (
        grammar.flag,
        ["--version", "-V", "version", "version --short", "--v=1"],
        ["", ";id", "-- $(x)", "a  b", "a\nb"],
    ),
    "env_name": (grammar.env_name, ["PATH", "_x", "A1"], ["", "1A", "A-B", "A=B", "A B", "A\n"]),
    "mode": (grammar.mode, ["0644", "755", "4755", "01777"], ["", "644x", "0999", "rw-r--r--", "77", "+x"]),
    "suite": (grammar.suite, ["bookworm", "stable/", "bookworm/updates"], ["", "a b", "-x", "[x]", "a\nb"]),
    "component": (grammar.component, ["main", "non-free-firmware"], ["", "a b", "[trusted=yes]", "a\nb"]),
    "ppa": (grammar.ppa, ["ppa:owner/name", "git-core/ppa"], ["", "ppa:x", "ppa:a/b/c", "ppa:A/b", "a b/c"]),
    "tap": (grammar.tap, ["owner/name"], ["", "owner", "a/b/c", "a b/c", "https://example.com/x"]),
    "memory": (
        grammar.memory,
        ["512m", "2g", "2GiB", "1073741824", "65536kb"],
        ["", "0", "-1g", "2t", "1.5g", "2 g", "lots"],
    ),
    "user": (grammar.user, ["nobody", "1000", "1000:1000", "app:app"], ["", "root;id", "A", "a:b:c", "-1"]),
    "repository_name": (grammar.repository_name, ["docker-ce", "v2.repo"], ["", "../x", "a b", "[main]", "a/b"]),
    "https_url": (
        grammar.https_url,
        [
            "https://example.com",
            "https://example.com:8443/a/b?c=d#e",
            "https://[2001:db8::1]/x",
            "https://a.example/$x",
        ],
        [
            "",
            "http://example.com",
            "ftp://example.com",
            "https://",
            "https:// example.com",
            "https://example.com/a b",
            "https://example.com/\n",
            "https://example.com/\x1b[0m",
            "https://-x.example",
            "https://example.com/\u202e",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://example.com:123456/",
        ],
    ),
    "repository_url": (
        grammar.repository_url,
        [
            "https://example.com/debian",
            "https://example.com/$releasever/$basearch/",
            "https://example.com/$repo/os/$arch",
        ],
        ["http://example.com", "https://example.com/$HOME", "https://example.com/[x]", "https://example.com/a|b", "x"],
    ),
    "file_path": (
        grammar.file_path,
        ["/etc/tool.conf", "/opt/a/b.c", "/usr/local/share/x y", "/srv/x"],
        [
            "/etc",
            "/etc/",
            "/etc/../root/.ssh/x",
            "/etc/./x",
            "/etc//x",
            "/root/x",
            "/usr/bin/x",
            "etc/x",
            "/etc/a\nb",
            "/etc/$x",
        ],
    ),
    "inside_path": (
        grammar.inside_path,
        ["bin/jq", "jq-{version}/jq", "a..b"],
        ["", "/bin/jq", "../x", "a/../b", "a\nb"],
    ),
    "version_pattern": (grammar.version_pattern, ["v([0-9.]+)"], ["([0-9.]+", "[0-9.]+", "(" * 600]),
    "one_line": (grammar.one_line, ["", "any text, é too"], ["a\nb", "\x1b[31m", "a\u2028b", "x" * 5000]),
    "file_content": (grammar.file_content, ["", "a = 1\n\tb\r\n"], ["\0", "\x1b[31m", "x" * ((1 << 20) + 1)]),
}


@pytest.mark.parametrize(("field", "text"), [(field, text) for field, (_, good, _) in FIELDS.items() for text in good])
def test_a_field_accepts(field: str, text: str) -> None:
    assert FIELDS[field][0](text) is None


@pytest.mark.parametrize(("field", "text"), [(field, text) for field, (_, _, bad) in FIELDS.items() for text in bad])
def test_a_field_refuses(field: str, text: str) -> None:
    assert FIELDS[field][0](text)


@pytest.mark.parametrize(
    "url", ["https://user:hunter2@example.com/", "http://user:hunter2@example.com", "https://hunter2@x"]
)
def test_credentials_in_a_url_are_refused_and_never_shown(url: str) -> None:
    message = grammar.https_url(url)
    assert message is not None
    assert "credentials" in message
    assert "hunter2" not in message


def test_a_long_value_is_shown_shortened() -> None:
    assert len(str(grammar.name("x " * 5000))) < 300
