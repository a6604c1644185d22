"""Makes triton's interpreter faster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def patch_language_once() -> None:
    """Let the interpreter replace the language once for each kernel, not in every call of a function inside it."""
    from triton.runtime import interpreter

    if interpreter._patch_lang.__module__ == __name__:
        return
    tl, patch_all = interpreter.tl, interpreter._patch_lang
    both = SimpleNamespace(__globals__={"tl": tl, "core": tl.core})  # kernels see one, what they call the other

    def patch(function: Any) -> Any:
        return patch_all(both) if tl.core.is_builtin(tl.load) else interpreter._LangPatchScope()

    interpreter._patch_lang = patch
