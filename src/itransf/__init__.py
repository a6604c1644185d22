"""Knowledge base completion you can read: ITransF and its family.

    import itransf
    graph = itransf.load("world")
    run = itransf.train(graph)
    print(run.evaluate()["mrr"])
    print(run.predict(head="France", relation="borders"))

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from itransf.version import VERSION

if TYPE_CHECKING:
    from itransf.data import Graph as Graph
    from itransf.data import load as load
    from itransf.data import plant as plant
    from itransf.errors import CheckpointError as CheckpointError
    from itransf.errors import ConfigError as ConfigError
    from itransf.errors import DataError as DataError
    from itransf.errors import ITransFError as ITransFError
    from itransf.models import MODELS as MODELS
    from itransf.presets import list_presets as list_presets
    from itransf.run import Run as Run
    from itransf.run import open_run
    from itransf.run import train as train

    open = open_run

_HOMES = {
    "CheckpointError": "itransf.errors",
    "ConfigError": "itransf.errors",
    "DataError": "itransf.errors",
    "Graph": "itransf.data",
    "ITransFError": "itransf.errors",
    "MODELS": "itransf.models",
    "Run": "itransf.run",
    "list_presets": "itransf.presets",
    "load": "itransf.data",
    "open": "itransf.run:open_run",
    "plant": "itransf.data",
    "train": "itransf.run",
}

_PARTS = {
    "cli",
    "config",
    "data",
    "errors",
    "evaluation",
    "experiments",
    "interpret",
    "models",
    "ops",
    "prediction",
    "presets",
    "run",
    "storage",
    "teaching",
    "training",
}

__version__ = VERSION
__all__ = [
    "MODELS",
    "CheckpointError",
    "ConfigError",
    "DataError",
    "Graph",
    "ITransFError",
    "Run",
    "__version__",
    "list_presets",
    "load",
    "open",
    "plant",
    "train",
]


def __getattr__(name: str) -> Any:
    """Load a public name, or a part of the package, when it is first asked for."""
    if name in _HOMES:
        home, _, attribute = _HOMES[name].partition(":")
        value = getattr(import_module(home), attribute or name)
    elif name in _PARTS:
        value = import_module(f"itransf.{name}")
    else:
        raise AttributeError(f"module 'itransf' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, and the parts of the package."""
    return sorted([*__all__, *_PARTS])
