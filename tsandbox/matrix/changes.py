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
_FETCH = "name a commit, branch or tag that this checkout holds; in CI fetch the whole history"


class Changes(Struct, frozen=True, kw_only=True):
    """`everything` names the file that makes all cells count as changed."""

    ref: str
    files: frozenset[Path] = frozenset()
    # Names of files that are not there any more.
    gone: frozenset[str] = frozenset()
    everything: str | None = None

    def touch(self, files: Iterable[str]) -> bool:
        """Whether a cell made from these files changed; a file beside a recipe counts if the recipe names it."""
        if self.everything:
            return True
        paths = [Path(file).resolve() for file in files]
        # Where a recipe was deleted, one of the same name elsewhere has taken its place.
        if any(path in self.files or path.name in self.gone for path in paths):
            return True
        return any(self._mentions(path) for path in paths)

    def _mentions(self, recipe: Path) -> bool:
        beside = [file.name for file in self.files if file.suffix != ".toml" and file.is_relative_to(recipe.parent)]
        if not beside:
            return False
        text = recipe.read_text(encoding="utf-8", errors="replace")
        return any(name in text for name in beside)


def changes_since(ref: str, directory: Path, decisive: Iterable[Path] = ()) -> Changes:
    """Everything that differs from where this branch left `ref`: commits, staged, edited and new files.

    A change of one of the `decisive` files changes every cell, like one of the tool itself.
    """
    inside = "run it in a git checkout of the recipes"
    top = Path(_git(directory, "rev-parse", "--show-toplevel", hint=inside).strip())
    # Checked by itself first: a ref that looks like an option must not become one.
    known = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    commit = _git(top, *known, failed=f"this checkout holds no commit {ref!r}").strip()
    apart = f"no commit is known from which both {ref} and this branch come"
    fork = _git(top, "merge-base", commit, "HEAD", failed=apart).strip()
    changed = _names(_git(top, "diff", "--name-only", "--no-renames", "-z", fork))
    new = _names(_git(top, "ls-files", "--others", "--exclude-standard", "-z"))
    names = [*changed, *new]
    files = frozenset((top / name).resolve() for name in names)
    always = {path.resolve() for path in decisive}
    return Changes(
        ref=ref,
        files=files,
        gone=frozenset(path.name for path in files if not path.exists()),
        everything=next((name for name in names if _decisive(top, name) or (top / name).resolve() in always), None),
    )


def _decisive(top: Path, name: str) -> bool:
    ours = (Path(tsandbox.__file__).parent, shipped("images"))
    path = (top / name).resolve()
    return any(fnmatchcase(name, pattern) for pattern in _DECISIVE) or any(path.is_relative_to(part) for part in ours)


def _names(output: str) -> list[str]:
    return [name for name in output.split("\0") if name]


def _git(directory: Path, *args: str, failed: str | None = None, hint: str = _FETCH) -> str:
    try:
        # safe.directory: CI containers often check out as another user; we only read names.
        return run(["git", "-c", "safe.directory=*", "-C", directory, *args], timeout=60).text
    except ProgramMissing as error:
        raise UsageError("--changed-since needs git, which is not installed", details=error.details) from None
    except CommandFailed as error:
        raise UsageError(
            f"--changed-since: {failed or error.output.strip() or error.message}",
            hint=hint,
            details=error.details[:1],
        ) from None
