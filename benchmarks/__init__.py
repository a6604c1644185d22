"""Benchmarks: speed, interpretability, teaching and default settings; not part of the package.

Each module measures one thing as `python -m benchmarks.NAME` and stores a record in `results/`;
`python -m benchmarks.render` writes the tables of the pages in `docs/` from the stored records.
"""
