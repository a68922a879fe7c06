"""A lock for pip that a plan brings along, taken apart and written again.

pip reads options in such a file too: other sources, editable directories, and so other people's code on this host. Only
what names a package, its version and its digests is passed on.
"""

import re

_REQUIREMENT = re.compile(
    r"(?P<package>[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9._, -]*\])?) ?== ?(?P<version>[A-Za-z0-9][A-Za-z0-9.+!_-]*)"
    r"(?: ?;(?P<marker>[A-Za-z0-9_.,'\"<>=!()~ ]*))?(?P<digests>(?: --hash=sha256:[0-9a-f]{64})+)"
)


def checked(lock: str) -> str:
    """The lock with one plain requirement on a line; a ValueError shows the first line that is something else."""
    lines = []
    for line in _logical_lines(lock):
        match = _REQUIREMENT.fullmatch(line)
        if match is None:
            raise ValueError(f"{line[:120]!r} is not of the form name==version --hash=sha256:…")
        marker = f" ; {match['marker'].strip()}" if match["marker"] else ""
        lines.append(f"{match['package']}=={match['version']}{marker}{match['digests']}\n")
    return "".join(lines)


def _logical_lines(lock: str) -> list[str]:
    """Without comments, with continued lines joined and runs of blanks made one."""
    joined = re.sub(r"\\\r?\n", " ", lock)
    # Blanks first: a search for many of them before a comment takes the square of their number.
    lines = (" ".join(line.split()) for line in joined.splitlines())
    return [words for line in lines if (words := re.sub(r"(?:^| )#.*", "", line))]
