"""Writes docs/reference/ from the code: `scripts/reference.py`, or `--check` to fail where a page is not what it says.

Every page is a function that returns its text. What the code cannot tell (what an environment variable is for) is
described beside the page, and a variable that nobody described fails the run.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from reference_pages.api import api
from reference_pages.commands import commands
from reference_pages.environment import environment
from reference_pages.errors import errors
from reference_pages.formats import formats
from reference_pages.rules import rule_pages, rules
from reference_pages.vocabulary import vocabulary
from reference_pages.when import when

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs/reference"
NOTICE = "<!-- Written by scripts/reference.py from the code. Do not edit: run `make docs`. -->\n\n"

# File → title and page, in the order of the index.
PAGES: dict[str, tuple[str, Callable[[], str]]] = {
    "commands.md": ("Commands and their options", commands),
    "vocabulary.md": ("Actions and primitives", vocabulary),
    "when.md": ("Conditions: `when`", when),
    "formats.md": ("Formats: recipe, plan, spec, result", formats),
    "rules.md": ("Rules of `tsandbox validate`", rules),
    "errors.md": ("Exit codes and errors", errors),
    "environment.md": ("Environment variables and configuration", environment),
    "api.md": ("Python API", api),
}


def main(arguments: list[str]) -> int:
    pages = written()
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    gone = [path for path in REFERENCE.rglob("*") if path.is_file() and path not in pages]
    if "--check" in arguments:
        for path in (*stale, *gone):
            print(f"{path.relative_to(ROOT)} is not what the code says: run `make docs`", file=sys.stderr)
        return 1 if stale or gone else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pages[path], encoding="utf-8")
    for path in gone:
        path.unlink()
    print(f"{len(pages)} pages, {len(stale)} written, {len(gone)} removed")
    return 0


def written() -> dict[Path, str]:
    """Every page by its path, as it should be."""
    index = "# Reference\n\n" + "".join(f"- [{title}]({name})\n" for name, (title, _) in PAGES.items())
    texts = {"README.md": index}
    texts |= {name: f"# {title}\n\n{page()}" for name, (title, page) in PAGES.items()}
    texts |= {f"rules/{name}.md": text for name, text in rule_pages().items()}
    return {REFERENCE / name: f"{NOTICE}{text.strip()}\n" for name, text in texts.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
