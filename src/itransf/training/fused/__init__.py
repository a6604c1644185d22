"""Training steps that run on a GPU without the host: planned for many batches at once, then replayed."""
