"""One file per library: how its training and its filtered ranking are started.

Each has `train(task, clock)`, which trains until the clock stops it, and `prepare_ranking(task)`, which
returns a function that ranks triples (n, 3). A library is imported by its own file alone, so that it may be
missing.
"""
