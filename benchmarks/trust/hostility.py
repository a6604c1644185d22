"""Run folders with wrong content and right checksums: refused in a sentence, or they work as a run does."""

from __future__ import annotations

import copy
import json
import random
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import safe_open
from torch import Tensor

import itransf
from benchmarks.trust.trials import CONCEPTS, LONGER, QUICK, Count, Outcome, in_process, make_graph
from itransf.records import FILE, Manifest, format_sealed, read_manifest, write_manifest
from itransf.storage import RunFolder

SECONDS = 5.0  # of the processor that a trial may take
LONGEST = 60.0  # seconds after which it hangs
RATIO = 2.0  # of the memory that a good run takes
SLACK = 16 * 2**20  # bytes that two equal processes may differ by

_DEEP = "[" * 100_000 + "]" * 100_000
_VALUES = [
    *("null", "true", "false", "-1", "0", "1", "2.5", "1e308", "-1e308", "NaN", "Infinity", "1" + "0" * 30),
    *("9" * 5000, '""', '" "', '"\\ud800"', '"\\u0000"', '"../../x"', '"itransf"', '"nowhere:Model"'),
    *("[]", "{}", "[null]", '{"a": 1}', "[[[]]]", "1000000000", "4294967296", "-9223372036854775808", _DEEP),
    *('"os:abort"', '"' + "x" * 100_000 + '"', "[" + "0," * 100_000 + "0]"),
]
_TOML_VALUES = [
    *("true", "-1", "0", "1", "2.5", "1e308", "nan", "inf", "-inf", "1" + "0" * 30, '""', '"itransf"', '"none"'),
    *("[]", "{}", "[1, 2]", "1000000000", "4294967296", '"nowhere:Model"', '"os:system"', "1979-05-27", _DEEP),
]
_MARK = '"@@HERE@@"'


def mutate_json(content: Any, chance: random.Random) -> str:
    """Return JSON text in which one value is another, is missing, or is there twice."""
    content = copy.deepcopy(content)
    places = list(_list_places(content))
    if not places:
        return chance.choice(_VALUES)
    parent, key = chance.choice(places)
    how = chance.choice(("replace", "replace", "replace", "remove", "twice", "garble"))
    if how == "remove":
        del parent[key]
        return json.dumps(content, ensure_ascii=False)
    if how == "garble":
        text = json.dumps(content, ensure_ascii=False)
        place = chance.randrange(len(text))
        return text[:place] + chance.choice('"{}[],:x\\') + text[place + 1 :]
    old, value = parent[key], chance.choice(_VALUES)
    if how == "twice" and isinstance(key, str):
        parent[key] = _MARK[1:-1]
        return json.dumps(content, ensure_ascii=False).replace(_MARK, f"{json.dumps(old)}, {json.dumps(key)}: {value}")
    parent[key] = _MARK[1:-1]
    return json.dumps(content, ensure_ascii=False).replace(_MARK, value)


def _list_places(content: Any) -> Any:
    """Yield every container with every key or index in it."""
    keys = content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    for key in keys:
        yield content, key
        yield from _list_places(content[key])


def mutate_toml(text: str, chance: random.Random) -> str:
    """Return settings in which one line is another."""
    lines = text.splitlines()
    place = chance.choice([number for number, line in enumerate(lines) if line.strip()])
    how = chance.choice(("value", "value", "value", "remove", "twice", "garble"))
    if how == "value" and " = " in lines[place]:
        lines[place] = f"{lines[place].partition(' = ')[0]} = {chance.choice(_TOML_VALUES)}"
    elif how == "remove":
        del lines[place]
    elif how == "twice":
        lines.insert(place, lines[place])
    else:
        lines[place] = lines[place][: chance.randrange(len(lines[place]))] + chance.choice("[]=\"'#.x")
    return "\n".join(lines) + "\n"


_TENSOR_CHANGES: Mapping[str, Callable[[Tensor], Tensor]] = {
    "another type": lambda tensor: tensor.to(torch.int32),
    "bytes": lambda tensor: tensor.to(torch.uint8),
    "short": lambda tensor: tensor.to(torch.float16),
    "double": lambda tensor: tensor.to(torch.float64),
    "truth values": lambda tensor: tensor != 0,
    "fewer rows": lambda tensor: tensor[:-1] if tensor.dim() else tensor.reshape(1),
    "no rows": lambda tensor: tensor[:0] if tensor.dim() else tensor.reshape(1)[:0],
    "one row": lambda tensor: tensor[:1] if tensor.dim() else tensor.reshape(1),
    "flat": lambda tensor: tensor.reshape(-1),
    "one more dimension": lambda tensor: tensor[None],
    "negative": lambda tensor: torch.full_like(tensor, -1) if tensor.is_signed() else tensor,
    "large": lambda tensor: torch.full_like(tensor, 100),
    "huge": lambda tensor: torch.full_like(tensor, 3e38 if tensor.is_floating_point() else 127),
    "all the same": torch.zeros_like,
    "not a number": lambda tensor: tensor * float("nan") if tensor.is_floating_point() else tensor,
    "infinite": lambda tensor: tensor + float("inf") if tensor.is_floating_point() else tensor,
}


def mutate_tensors(path: Path, chance: random.Random) -> str:
    """Change a tensor or the metadata of a file, and return what was changed."""
    with safe_open(path, "pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
        meta = file.metadata()["meta"]
    name = chance.choice(sorted(tensors))
    how = chance.choice(
        [*_TENSOR_CHANGES, "metadata", "metadata", "metadata", "missing", "renamed", "without metadata"]
    )
    if how == "metadata":
        meta = mutate_json(json.loads(meta), chance)
    elif how == "missing":
        del tensors[name]
    elif how == "renamed":
        tensors[f"{name}x"] = tensors.pop(name)
    elif how != "without metadata":
        tensors[name] = _TENSOR_CHANGES[how](tensors[name]).contiguous()
    safetensors.torch.save_file(tensors, path, None if how == "without metadata" else {"meta": meta})
    return f"{name}: {how}"


def mutate(folder: Path, chance: random.Random) -> str:
    """Change a file of a run, make the checksums right, and return what was changed."""
    path = folder / chance.choice(sorted(entry.name for entry in folder.iterdir()))
    told = path.name
    if path.suffix == ".safetensors":
        told = f"{path.name}, {mutate_tensors(path, chance)}"
    else:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            text = mutate_toml(text, chance)
        elif path.suffix == ".jsonl":
            lines = text.splitlines()
            place = chance.randrange(len(lines))
            lines[place] = mutate_json(json.loads(lines[place]), chance)
            text = "\n".join(lines) + "\n"
        else:
            text = mutate_json(json.loads(text), chance)
        path.write_text(text, encoding="utf-8")
        told = f"{path.name}: {_shorten(text)}"
    if path.name != FILE:
        manifest = read_manifest(folder)
        write_manifest(folder, Manifest(manifest.record, RunFolder(folder).measure()))
    else:
        _seal_text(path)
    return told


def _seal_text(path: Path) -> None:
    """Make the checksum in a changed run.json right, if its text still is JSON."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        content.pop("checksum", None)
        path.write_text(format_sealed(content), encoding="utf-8")
    except (ValueError, AttributeError, RecursionError):
        return


def _shorten(text: str) -> str:
    return re.sub(r"(.)\1{50,}", r"\1...", text)[:200]


def use(folder: Path) -> None:
    """Open a run and use everything that reads it; resume it if it is interrupted."""
    run = itransf.open(folder, device="cpu")
    run.info()
    run.evaluate()
    head, relation, tail = (run.graph.entities.name(0), run.graph.relations.name(0), run.graph.entities.name(1))
    run.predict(head, relation)
    run.score([(head, relation, tail)])
    if run.has_concepts:
        run.concepts()
        run.explain(head, relation, tail)
    if run.unfinished is not None:
        itransf.train(make_graph(), settings=LONGER, out=folder, resume=True, device="cpu", progress=False)
    elif run.config.training.epochs == 2:
        settings = (
            [*CONCEPTS, *QUICK, "training.epochs=3"]
            if run.has_concepts
            else ["model.name=distmult", *QUICK[:-1], "training.epochs=3"]
        )
        itransf.train(make_graph(), settings=settings, out=folder, resume=True, device="cpu", progress=False)


def attack(runs: Mapping[str, Path], root: Path, trials: int, seed: int) -> tuple[Count, dict[str, float]]:
    """Open and use mutated copies of runs.

    Args:
        runs: Run folders by name.
        root: Folder for the copies.
        trials: Number of mutated folders.
        seed: Random seed.

    Returns:
        The outcomes, and the longest time and the largest ratio of memory to that of a good run.
    """
    chance, count, work = random.Random(seed), Count(), root / "work"
    usual = {}
    for name, run in runs.items():
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(run, work)
        good = in_process(lambda: use(work))
        assert not good.error, f"{name}: {good.error}"
        usual[name] = good.added
    slowest = most = 0.0
    for _ in range(trials):
        name = chance.choice(sorted(runs))
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(runs[name], work)
        told = mutate(work, chance)
        found = in_process(lambda: use(work), limit=LONGEST)
        slowest, most = max(slowest, found.seconds), max(most, found.added / max(usual[name], SLACK))
        outcome = _judge(found, usual[name])
        count.add(outcome, outcome not in ("worked", "refused"), f"{name}/{told}")
    return count, {"slowest_seconds": slowest, "memory_ratio": most}


def _judge(found: Outcome, usual: int) -> str:
    if found.seconds > SECONDS:
        return f"took more than {SECONDS:.0f} s"
    if found.added > RATIO * usual + SLACK:
        return f"took {found.added / 2**20:.0f} MiB, a good run {usual / 2**20:.0f}"
    if found.error and "\n" in found.error:
        return "refused in several lines"
    return found.text
