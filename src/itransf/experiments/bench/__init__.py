"""What reproduction still needs; the same functions are in benchmarks.records and benchmarks.speed."""
