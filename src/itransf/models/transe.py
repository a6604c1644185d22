"""TransE."""

from typing import ClassVar

from itransf.models.base import Paper
from itransf.models.translation import Translation


class TransE(Translation):
    """-|h + r - t|   (Bordes et al., 2013)."""

    fused: ClassVar[bool] = True
    paper = Paper(
        "Translating Embeddings for Modeling Multi-relational Data",
        "Bordes, Usunier, Garcia-Duran, Weston, Yakhnenko",
        "NIPS 2013",
        "https://papers.nips.cc/paper/5071-translating-embeddings-for-modeling-multi-relational-data",
    )
