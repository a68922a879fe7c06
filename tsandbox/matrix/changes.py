"""What a change in a git checkout touches: the recipes themselves, all that depend on them, or everything."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

import tsandbox
from tsandbox.engine.process import CommandFailed, ProgramMissing, run
from tsandbox.errors import UsageError
from tsandbox.settings import shipped

# Files of a registry that decide which tsandbox runs and how: a change there can change every result.
_DECISIVE = (
    ".github/workflows/*",
    ".gitlab-ci.yml",
    "pyproject.toml",
    "requirements*.txt",
    "uv.lock",
    "*.exclusions.toml",
)


class Changes(Struct, frozen=True, kw_only=True):
    """`everything` names the file that makes all cells count as changed."""

    ref: str
    files: frozenset[Path] = frozenset()
    everything: str | None = None

    def touch(self, files: Iterable[str]) -> bool:
        """Whether a cell made from these files changed; a file beside a recipe counts if the recipe names it."""
        if self.everything:
            return True
        paths = [Path(file).resolve() for file in files]
        if any(path in self.files for path in paths):
            return True
        return any(self._mentions(path) for path in paths)

    def _mentions(self, recipe: Path) -> bool:
        beside = [file.name for file in self.files if file.suffix != ".toml" and file.is_relative_to(recipe.parent)]
        if not beside:
            return False
        text = recipe.read_text(encoding="utf-8", errors="replace")
        return any(name in text for name in beside)


def changes_since(ref: str, directory: Path) -> Changes:
    """Everything that differs from where this branch left `ref`: commits, staged, edited and new files."""
    top = Path(_git(directory, "rev-parse", "--show-toplevel").strip())
    # Checked by itself first: a ref that looks like an option must not become one.
    commit = _git(top, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}").strip()
    fork = _git(top, "merge-base", commit, "HEAD").strip()
    changed = _names(_git(top, "diff", "--name-only", "--no-renames", "-z", fork))
    new = _names(_git(top, "ls-files", "--others", "--exclude-standard", "-z"))
    names = [*changed, *new]
    return Changes(
        ref=ref,
        files=frozenset((top / name).resolve() for name in names),
        everything=next((name for name in names if _decisive(top, name)), None),
    )


def _decisive(top: Path, name: str) -> bool:
    ours = (Path(tsandbox.__file__).parent, shipped("images"))
    path = (top / name).resolve()
    return any(fnmatchcase(name, pattern) for pattern in _DECISIVE) or any(path.is_relative_to(part) for part in ours)


def _names(output: str) -> list[str]:
    return [name for name in output.split("\0") if name]


def _git(directory: Path, *args: str) -> str:
    try:
        # safe.directory: CI containers often check out as another user; we only read names.
        return run(["git", "-c", "safe.directory=*", "-C", directory, *args], timeout=60).text
    except ProgramMissing as error:
        raise UsageError("--changed-since needs git, which is not installed", details=error.details) from None
    except CommandFailed as error:
        raise UsageError(
            f"--changed-since: {error.output.strip() or error.message}",
            hint="name a commit, branch or tag that this checkout holds; in CI fetch the whole history",
            details=error.details[:1],
        ) from None
