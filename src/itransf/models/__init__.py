"""The models. A new one is a file of this folder with a class of the file's name; `MODELS` finds it."""

from itransf.models.base import SIDES as SIDES
from itransf.models.base import Model as Model
from itransf.models.base import Paper as Paper
from itransf.models.base import Part as Part
from itransf.models.base import QueryModel as QueryModel
from itransf.models.base import Side as Side
from itransf.models.base import Sizes as Sizes
from itransf.models.base import Split as Split
from itransf.models.concepts import CodedConcepts as CodedConcepts
from itransf.models.concepts import ConceptModel as ConceptModel
from itransf.models.concepts import ProjectingConcepts as ProjectingConcepts
from itransf.models.distmult import DistMult as DistMult
from itransf.models.ensemble import Ensemble as Ensemble
from itransf.models.icomplex import IComplEx as IComplEx
from itransf.models.itransf import ITransF as ITransF
from itransf.models.stranse import STransE as STransE
from itransf.models.transe import TransE as TransE
from itransf.models.translation import Translation as Translation
from itransf.models.transr import TransR as TransR
from itransf.registry import MODELS as MODELS
