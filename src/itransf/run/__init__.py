"""Runs: from settings to a trained model, saved, opened, queried, interpreted and changed."""

from itransf.run.comparison import Comparison as Comparison
from itransf.run.comparison import compare as compare
from itransf.run.ensemble import EnsembleRun as EnsembleRun
from itransf.run.opening import check_beginning as check_beginning
from itransf.run.opening import open_run as open_run
from itransf.run.opening import seal as seal
from itransf.run.opening import train as train
from itransf.run.opening import train_final as train_final
from itransf.run.report import check_page as check_page
from itransf.run.run import Run as Run
from itransf.run.settings import choose_device as choose_device
from itransf.run.settings import list_idle as list_idle
from itransf.run.settings import list_rescheduled as list_rescheduled
from itransf.run.settings import read_given as read_given
from itransf.run.settings import resolve_config as resolve_config
from itransf.run.views import compare_valid as compare_valid
from itransf.run.views import measure_valid as measure_valid

open = open_run
