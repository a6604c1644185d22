"""Knowledge graphs: reading triples, numbering names, splits, statistics, datasets. Nothing here needs torch."""

from itransf.data.datasets import DATASETS, Dataset, cache_folder, find_dataset, load, locate, obtain
from itransf.data.graph import SPLITS, Graph, Triples
from itransf.data.known import KnownIndex
from itransf.data.layout import Form
from itransf.data.leakage import Leakage, Structure, describe, measure_leakage, mine_structure
from itransf.data.planted import Planted, plant
from itransf.data.statistics import RelationStatistics
from itransf.data.vocabulary import Vocabulary

__all__ = [
    "DATASETS",
    "SPLITS",
    "Dataset",
    "Form",
    "Graph",
    "KnownIndex",
    "Leakage",
    "Planted",
    "RelationStatistics",
    "Structure",
    "Triples",
    "Vocabulary",
    "cache_folder",
    "describe",
    "find_dataset",
    "load",
    "locate",
    "measure_leakage",
    "mine_structure",
    "obtain",
    "plant",
]
