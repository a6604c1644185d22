"""Interpretable knowledge graph completion: link prediction with ITransF and its family.

    import itransf
    graph = itransf.load("world")
    run = itransf.train(graph)
    print(run.evaluate()["mrr"])
    print(run.predict(head="France", relation="borders"))

The public names are listed in `__init__.pyi` and imported when they are first used, so that `import itransf` is fast.
"""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from itransf.threads import configure_threads

__version__ = "0.2.0.dev0"

configure_threads()  # before torch is imported

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES = {name: home for home, name in re.findall(r"^from (itransf\.[\w.]+) import (\w+) as \2$", _STUB, re.MULTILINE)}
_PARTS = {part.name for part in iter_modules(__path__)}

__all__ = [*sorted(_HOMES), "__version__"]  # noqa: PLE0604 (all are strings)


def __getattr__(name: str) -> Any:
    """Import a public name, or a part of the package, when it is first used."""
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _PARTS:
        value = import_module(f"itransf.{name}")
    else:
        raise AttributeError(f"module 'itransf' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PARTS})
