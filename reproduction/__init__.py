"""The paper's tables and figures, rerun: `python -m reproduction main`, and `render` to write the pages.

Experiments are data: `experiments.toml` lists every training, `claims.toml` every claim of the paper, and `pages/`
holds the prose. Results are JSON files in `results/reproduction/`, one for each training.
"""
