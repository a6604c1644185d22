"""Registries of models, losses, samplers, optimizers, regularizers and trackers.

A name is a built-in ("distmult"), an entry point of an installed package (group `itransf.models` and so on), or a
dotted path to code of your own ("mypackage.mymodel:MyModel"). Nothing is imported before it is asked for.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from itransf.errors import ConfigError, did_you_mean


@dataclass(frozen=True, eq=False)
class Registry(Mapping[str, Any]):
    """Named objects of one kind.

    Attributes:
        kind: Singular noun for messages, such as "model".
        group: Entry point group of packages that add to it.
        builtin: Function that returns the built-in names and where each is defined, as "module:attribute".
        methods: Attributes that the objects have.
    """

    kind: str
    group: str
    builtin: Callable[[], dict[str, str]]
    methods: tuple[str, ...] = ()

    @cached_property
    def names(self) -> dict[str, str]:
        """Built-in names and their places."""
        return self.builtin()

    @cached_property
    def installed(self) -> dict[str, EntryPoint]:
        """Entry points of installed packages; a built-in name cannot be replaced."""
        return {point.name: point for point in entry_points(group=self.group) if point.name not in self.names}

    def __iter__(self) -> Iterator[str]:
        yield from (*self.names, *self.installed)

    def __len__(self) -> int:
        return len(self.names) + len(self.installed)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.names or name in self.installed or is_path(name))

    def __getitem__(self, name: str) -> Any:
        """Return the object of this name.

        Raises:
            ConfigError: The name is unknown, or its code cannot be imported.
        """
        if name in self.installed:
            return self._load(name, self.installed[name].load)
        place = self.names.get(name, name)
        if not is_path(place):
            hint = did_you_mean(name, list(self)) or f" Choose one of {', '.join(self)}, or give package.module:Name."
            raise ConfigError(f"there is no {self.kind} {name!r}.{hint}")
        module, _, attribute = place.partition(":")
        return self._load(name, lambda: getattr(import_named(module), attribute))

    def _load(self, name: str, load: Callable[[], Any]) -> Any:
        try:
            found = load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(
                f"the {self.kind} {name!r} cannot be imported ({error}); install the package that defines it, or run "
                "itransf in the folder of its file"
            ) from None
        missing = [method for method in self.methods if not hasattr(found, method)]
        if missing or not callable(found):
            lacks = f" (it has no {missing[0]!r})" if missing else ""
            raise ConfigError(f"{name!r} is not a {self.kind}{lacks}; see docs/extending.md")
        return found

    def source(self, name: str) -> str | None:
        """Return where a name that is not built in comes from, for a run's record."""
        if name in self.installed:
            point = self.installed[name]
            return f"{point.dist.name} {point.dist.version} ({point.value})" if point.dist else point.value
        return None if name in self.names else name

    def check_trusted(self, name: str, where: str) -> None:
        """Refuse to import code that nobody named: opening a run must not execute whatever its files say.

        Args:
            name: Name in the settings of a run.
            where: Run, for the message.

        Raises:
            ConfigError: The name is a dotted path that was neither named nor imported before, or is not installed.
        """
        if name in self.names or name in self.installed or name in TRUSTED or _is_imported(name.partition(":")[0]):
            return
        if not is_path(name):
            raise ConfigError(
                f"{where}: uses the {self.kind} {name!r}, which is not installed here; install the package that "
                "provides it (`itransf info` says which)"
            )
        raise ConfigError(
            f"{where}: uses the {self.kind} {name!r}, code from outside this package. If you trust it, name it: "
            f"itransf --plugin {name} ..., or import {name.partition(':')[0]} in Python before opening the run"
        )


TRUSTED: set[str] = set()
"""Dotted paths that the user named; a run may import them."""


def is_path(name: str) -> bool:
    """Return whether a name is a dotted path, "package.module:Name"."""
    module, colon, attribute = name.partition(":")
    return bool(colon) and attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))


def import_named(module: str) -> ModuleType:
    """Import a module that the user named: from where Python finds it, else from the current folder."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        here = str(Path.cwd())
        if error.name != module.partition(".")[0] or here in sys.path:
            raise
    sys.path.append(here)  # last: nothing there hides an installed module
    return import_module(module)


def _is_imported(module: str) -> bool:
    """Return whether the user's program has imported a module; those that any program has do not count."""
    root = module.partition(".")[0]
    return module in sys.modules and root not in sys.stdlib_module_names and root not in _LIBRARIES


_LIBRARIES = {"torch", "numpy", "safetensors", "typer", "rich", "pyarrow", "numba", "triton", "matplotlib", "sympy"}


def _find_models() -> dict[str, str]:
    """Return the built-in models: modules of `itransf.models` whose class of the same name sets `paper`."""
    found: dict[str, str] = {}
    for file in sorted((Path(__file__).parent / "models").glob("*.py")):
        text = file.read_text(encoding="utf-8")
        for name in re.findall(r"^class (\w+)\(", text, re.MULTILINE):
            if name.lower() == file.stem and re.search(r"^    paper\b", text, re.MULTILINE):
                found[file.stem] = f"itransf.models.{file.stem}:{name}"
    return found


def _in(module: str, **names: str) -> Callable[[], dict[str, str]]:
    return lambda: {name: f"itransf.training.{module}:{attribute}" for name, attribute in names.items()}


MODELS = Registry("model", "itransf.models", _find_models, ("Config", "build", "score"))
LOSSES = Registry(
    "loss",
    "itransf.losses",
    _in("losses", hinge="hinge", self_adversarial="self_adversarial", cross_entropy="cross_entropy"),
)
SAMPLERS = Registry(
    "sampler",
    "itransf.samplers",
    _in("negatives", uniform="UniformSampler", bernoulli="BernoulliSampler"),
    ("corrupt",),
)
OPTIMIZERS = Registry(
    "optimizer", "itransf.optimizers", _in("optimizers", sgd="SGD", adagrad="Adagrad", adam="Adam"), ("step",)
)
REGULARIZERS = Registry("regularizer", "itransf.regularizers", _in("losses", n3="n3", l2="l2", l1="l1"))
TRACKERS = Registry("tracker", "itransf.trackers", _in("trackers", none="NoTracker", log="LogTracker"), ("epoch",))

BY_SETTING = {
    "model.name": MODELS,
    "loss.name": LOSSES,
    "negatives.sampler": SAMPLERS,
    "training.optimizer": OPTIMIZERS,
    "regularizer.name": REGULARIZERS,
    "training.tracker": TRACKERS,
}
"""The registry of each setting that names something."""
