# The public names: type checkers read them here, and __init__.py imports each from its module when it is first used.
from itransf import cli as cli
from itransf import config as config
from itransf import data as data
from itransf import demo as demo
from itransf import errors as errors
from itransf import evaluation as evaluation
from itransf import interpret as interpret
from itransf import models as models
from itransf import prediction as prediction
from itransf import presets as presets
from itransf import run as run
from itransf import storage as storage
from itransf import teaching as teaching
from itransf.data import Graph as Graph
from itransf.data import load as load
from itransf.data import plant as plant
from itransf.errors import CheckpointError as CheckpointError
from itransf.errors import ConfigError as ConfigError
from itransf.errors import DataError as DataError
from itransf.errors import ITransFError as ITransFError
from itransf.models import MODELS as MODELS
from itransf.presets import list_presets as list_presets
from itransf.run import Run as Run
from itransf.run import compare as compare
from itransf.run import open as open
from itransf.run import seal as seal
from itransf.run import train as train
from itransf.run import train_final as train_final

__version__: str
