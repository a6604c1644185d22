"""Sources, typed triples and split of the bundled graph `world`; run `scripts/build_world.py`."""
