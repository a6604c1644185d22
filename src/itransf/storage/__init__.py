"""The run folder: what lies where, written so that a crash never leaves half a file.

run.json                what the run is: format, version, graph, progress
config.toml             every setting
vocabulary.json         names and labels of entities and relations
graph.safetensors       train, valid and test as numbers
history.jsonl           one line per epoch
checkpoint.safetensors  where training stands (weights, optimiser, random state)
model.safetensors       the weights a finished run is used with
concepts.json           names a person gave to concepts, by number; only where there are any
.replaced/              a run that is being overwritten, until the new one has something to show
.lock                   held while a training is at work here

Anything else that lies in the folder is not the run's, and is left alone.
"""

from __future__ import annotations

from itransf.storage.folder import RunFolder
from itransf.storage.names import CHECKPOINT, WEIGHTS

__all__ = ["CHECKPOINT", "WEIGHTS", "RunFolder"]
