"""Sparse coding of a trained STransE, as something that can be done for a job."""

from __future__ import annotations

import time
from typing import Any

from itransf.evaluation import rank_triples
from itransf.experiments.reproduction.jobs import Job
from itransf.experiments.reproduction.measuring import count_matrices, measure_ranks, pack_attention, round_off
from itransf.experiments.reproduction.workshop import Workshop
from itransf.interpret import read_attention
from itransf.interpret.sparse_coding import encode_matrices
from itransf.models import STransE


def code_and_rank(job: Job, shop: Workshop) -> dict[str, Any]:
    """Code the matrices of a trained STransE, then rank the test triples with what they are made of.

    The job's options are `atoms=M` and `nonzeros=K`.
    """
    options = dict(option.split("=") for option in job.options)
    run = shop.obtain_run(job)
    assert isinstance(run.model, STransE), "only its matrices are coded"
    started = time.perf_counter()
    coding = encode_matrices(run.model, int(options["atoms"]), int(options["nonzeros"]), job.seed)
    seconds = time.perf_counter() - started
    ranks = rank_triples(coding.model, run.graph.test, run.graph.known, progress=shop.progress)
    return {
        "config": run.config.to_dict(),
        "coding": {
            "library": coding.library,
            "penalty": round_off(coding.penalty),
            "non_zeros": round_off(coding.non_zeros),
            "non_zeros_kept": round_off((coding.codes != 0).sum(axis=2).mean()),
            "error": round_off(coding.error),
            "seconds": round_off(seconds),
        },
        "parameters": sum(parameter.numel() for parameter in coding.model.parameters()),
        "matrices": count_matrices(coding.model),
        "attention": pack_attention(read_attention(coding.model, run.graph)),
    } | measure_ranks(run.graph, ranks)
