"""Environment variables: found in the code, described here. One that is not described, or not used, is an error."""

import re
from pathlib import Path

import tsandbox
from reference_pages.markdown import code, table

_PLACES = {
    "TSANDBOX_STATE_DIR": "What is remembered between runs and may be deleted; by default `$XDG_STATE_HOME/tsandbox`.",
    "TSANDBOX_CACHE_DIR": "What can be made again; by default `$XDG_CACHE_HOME/tsandbox`.",
    "TSANDBOX_CONFIG_DIR": "Where `config.toml` lies; by default `$XDG_CONFIG_HOME/tsandbox`.",
    "TSANDBOX_HOME": "Where tools are installed on the host; by default `$XDG_DATA_HOME/tsandbox`.",
}
# Settings: also keys of config.toml, in lower case and without the prefix.
_SETTINGS = {
    "TSANDBOX_APT_MIRROR": "Where bases and packages come from; by default the host's mirror, else Debian's own.",
    "TSANDBOX_APT_SECURITY_MIRROR": "The mirror for security updates, where it is another one.",
    "TSANDBOX_BASE_MAKER": "`container`: make bases inside a Debian image, also where this machine has the tools.",
    "TSANDBOX_CA_BUNDLE": "Certificates to trust besides the usual ones while fetching and building.",
    "TSANDBOX_DEBIAN_IMAGE": "The Debian image that makes bases on hosts that are not Debian.",
    "TSANDBOX_ENGINE": "`podman`, `docker` or `auto`; `--engine` decides over it.",
    "TSANDBOX_EPOCH": "The day that the bases stand for, such as 2026-01-31; it moves every key.",
    "TSANDBOX_GITHUB_API": "Where versions of GitHub releases are looked up.",
    "TSANDBOX_NO_CONTENTS": "Set to 1: do not fetch the index that says which package holds a missing file.",
    "TSANDBOX_REGISTRY": "The registry that images are shared through.",
    "TSANDBOX_SUITE": "The Debian that images are made of: `bookworm` (by default) or `trixie`; it moves every key.",
}
# Names that tsandbox sets itself, or that belong to the shell.
_INTERNAL = {"TSANDBOX_COMPLETE", "TSANDBOX_WORK"}


def environment() -> str:
    _compare_with_the_code()
    text = "An environment variable decides over the configuration file, and an option over both.\n\n## Places\n\n"
    text += table(["Variable", "Meaning"], [[code(name), meaning] for name, meaning in _PLACES.items()])
    text += "## Settings\n\nEach is also a key of `config.toml`.\n\n"
    rows = [[code(name), code(name.removeprefix("TSANDBOX_").lower()), meaning] for name, meaning in _SETTINGS.items()]
    text += table(["Variable", "Key", "Meaning"], rows)
    text += "## Conventions\n\n"
    return text + "Output is coloured on a terminal only, and not there where `NO_COLOR` is set or `TERM` is `dumb`.\n"


def _compare_with_the_code() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in Path(tsandbox.__file__).parent.rglob("*.py"))
    used = set(re.findall(r"TSANDBOX_[A-Z_]*[A-Z]", sources))
    used |= {f"TSANDBOX_{name.upper()}" for name in re.findall(r"settings\.option\(\"([a-z_]+)\"\)", sources)}
    described = {*_PLACES, *_SETTINGS, *_INTERNAL}
    if used != described:
        raise SystemExit(
            "scripts/reference_pages/environment.py does not describe what the code uses:"
            f" missing {sorted(used - described)}, gone {sorted(described - used)}"
        )
