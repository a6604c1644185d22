"""Makes triton's interpreter faster."""

from __future__ import annotations

from functools import cache
from typing import Any


def find_builtins_once() -> None:
    """Let the interpreter search the language for builtin functions once, not in every call of a function."""
    from triton.runtime import interpreter

    if interpreter._patch_builtin.__module__ == __name__:
        return
    find = interpreter.inspect.getmembers
    is_builtin = interpreter.tl.core.is_builtin

    @cache  # the first call finds the language as it is; others may find it replaced already
    def list_names(package: Any) -> list[str]:
        return [name for name, member in find(package) if is_builtin(member)]

    def patch(package: Any, builder: Any, *scope: Any) -> None:
        for name in list_names(package):
            member = getattr(package, name)
            if is_builtin(member):
                interpreter._patch_attr(package, name, member, builder, *scope)

    interpreter._patch_builtin = patch
