"""What the files of a run are called."""

from __future__ import annotations

FORMAT = 1
WEIGHTS = "model.safetensors"
CHECKPOINT = "checkpoint.safetensors"
CONCEPTS = "concepts.json"
BEGINNING = (
    "vocabulary.json",
    "graph.safetensors",
    "config.toml",
    "run.json",
)  # written first, in this order
OWN = (*BEGINNING, "history.jsonl", CHECKPOINT, WEIGHTS, CONCEPTS)
HALF_WRITTEN = tuple(f".{name}." for name in OWN)
LOCK, ASIDE = ".lock", ".replaced"
