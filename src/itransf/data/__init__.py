"""Triples: reading, numbering, splitting, and what can be counted in them. Nothing here needs torch."""

from itransf.data.catalog import DATASETS, Dataset, find_dataset
from itransf.data.description import describe
from itransf.data.encoding import Triples
from itransf.data.graph import SPLITS, Graph
from itransf.data.known import KnownIndex
from itransf.data.leakage import Leakage, Structure, measure_leakage, mine_structure
from itransf.data.obtaining import cache_folder, locate, obtain
from itransf.data.planted import Planted, plant
from itransf.data.sources import load
from itransf.data.statistics import RelationStatistics
from itransf.data.vocabulary import Vocabulary

__all__ = [
    "DATASETS",
    "SPLITS",
    "Dataset",
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
