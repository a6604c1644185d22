"""Knowledge graphs: reading triples, numbering names, splits, statistics, datasets. Nothing here needs torch."""

from itransf.data.datasets import DATASETS as DATASETS
from itransf.data.datasets import Dataset as Dataset
from itransf.data.datasets import cache_folder as cache_folder
from itransf.data.datasets import find_dataset as find_dataset
from itransf.data.datasets import load as load
from itransf.data.datasets import locate as locate
from itransf.data.datasets import obtain as obtain
from itransf.data.graph import SPLITS as SPLITS
from itransf.data.graph import Graph as Graph
from itransf.data.graph import Triples as Triples
from itransf.data.known import KnownIndex as KnownIndex
from itransf.data.layout import Form as Form
from itransf.data.leakage import Leakage as Leakage
from itransf.data.leakage import Structure as Structure
from itransf.data.leakage import describe as describe
from itransf.data.leakage import measure_leakage as measure_leakage
from itransf.data.leakage import mine_structure as mine_structure
from itransf.data.planted import Planted as Planted
from itransf.data.planted import plant as plant
from itransf.data.statistics import RelationStatistics as RelationStatistics
from itransf.data.vocabulary import Vocabulary as Vocabulary
