"""One file per record: the section of docs/performance.md that is written from it."""
