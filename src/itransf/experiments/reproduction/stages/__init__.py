"""The stages: a file for each table or figure of the paper, and a line here."""

from __future__ import annotations

from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.stages.ablation import ABLATION
from itransf.experiments.reproduction.stages.attention import ATTENTION
from itransf.experiments.reproduction.stages.best import BEST
from itransf.experiments.reproduction.stages.choices import CHOICES
from itransf.experiments.reproduction.stages.compression import COMPRESSION
from itransf.experiments.reproduction.stages.datasets import COUNTS
from itransf.experiments.reproduction.stages.domain_sampling import DOMAIN_SAMPLING
from itransf.experiments.reproduction.stages.frequencies import FREQUENCIES
from itransf.experiments.reproduction.stages.main import MAIN
from itransf.experiments.reproduction.stages.rare import RARE
from itransf.experiments.reproduction.stages.rules import RULES
from itransf.experiments.reproduction.stages.selection import SELECTION
from itransf.experiments.reproduction.stages.sparse_encoding import SPARSE_ENCODING
from itransf.experiments.reproduction.stages.sparseness import SPARSENESS

STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        COUNTS,
        FREQUENCIES,
        SELECTION,
        MAIN,
        RARE,
        ATTENTION,
        SPARSENESS,
        COMPRESSION,
        DOMAIN_SAMPLING,
        SPARSE_ENCODING,
        CHOICES,
        RULES,
        BEST,
        ABLATION,
    )
}
"""Every stage by name, in the order in which they are done and shown."""
