"""Settings: frozen dataclasses, filled from layers of TOML and `section.key=value` strings.

A later layer overrides an earlier one key by key. Unknown keys and unfit values are refused with the name of their
layer.
"""

from itransf.config.layers import Layer as Layer
from itransf.config.layers import Setting as Setting
from itransf.config.layers import assignments_layer as assignments_layer
from itransf.config.layers import build_config as build_config
from itransf.config.layers import check_trusted as check_trusted
from itransf.config.layers import describe_settings as describe_settings
from itransf.config.layers import format_toml as format_toml
from itransf.config.layers import list_named as list_named
from itransf.config.layers import parse_layer as parse_layer
from itransf.config.layers import read_layer as read_layer
from itransf.config.sections import CHOOSE as CHOOSE
from itransf.config.sections import DEFAULT_MODEL as DEFAULT_MODEL
from itransf.config.sections import AssignmentConfig as AssignmentConfig
from itransf.config.sections import CheckpointConfig as CheckpointConfig
from itransf.config.sections import Config as Config
from itransf.config.sections import LossConfig as LossConfig
from itransf.config.sections import NegativesConfig as NegativesConfig
from itransf.config.sections import RegularizerConfig as RegularizerConfig
from itransf.config.sections import TrainingConfig as TrainingConfig
from itransf.config.sections import ValidationConfig as ValidationConfig
from itransf.config.sections import WarmStartConfig as WarmStartConfig
from itransf.config.sections import setting as setting
