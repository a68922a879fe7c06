"""What `import tsandbox` offers."""

import ast
import inspect
import sys
import textwrap

import tsandbox
from reference_pages.markdown import block, code


def api() -> str:
    intro, _, rest = inspect.cleandoc(tsandbox.__doc__ or "").partition("\n\n")
    text = intro + "\n\n" + _with_code_blocks(rest) + "\n\n"
    return text + "".join(f"## {name}\n\n{_about(name)}\n\n" for name in tsandbox.__all__)


def _about(name: str) -> str:
    found = getattr(tsandbox, name)
    if inspect.isclass(found):
        # A class without words of its own is what its module is about.
        own = vars(found).get("__doc__") or sys.modules[found.__module__].__doc__ or ""
        return f"{inspect.cleandoc(own)}\n\nFields: {', '.join(map(code, found.__struct_fields__))}."
    # `tsandbox.derive` is a room that can be called, and holds the function of its name.
    function = found if inspect.isfunction(found) else getattr(found, name)
    # As written: what `inspect` makes of annotations differs between versions of Python.
    [written] = ast.parse(inspect.getsource(function)).body
    assert isinstance(written, ast.FunctionDef)
    assert written.returns
    signature = f"{name}({ast.unparse(written.args)}) -> {ast.unparse(written.returns)}"
    return block(signature, "python") + (inspect.getdoc(function) or "")


def _with_code_blocks(text: str) -> str:
    """Indented blocks as fenced ones."""
    parts, indented = [], []
    for line in [*text.splitlines(), "end"]:
        if line.startswith("    ") or (indented and not line):
            indented.append(line)
            continue
        if indented:
            parts.append(block(textwrap.dedent("\n".join(indented)).strip("\n"), "python").strip())
            parts.append("")
            indented = []
        parts.append(line)
    return "\n".join(parts[:-1])
