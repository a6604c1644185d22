"""Numbers made of ranks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

HITS = (1, 3, 10)
METRICS = ("mr", "mrr", "amri", *(f"hits@{k}" for k in HITS))


def summarise(
    ranks: npt.NDArray[np.float64],
    rivals: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64] | None = None,
) -> dict[str, float]:
    """Return mean rank, mean reciprocal rank, adjusted mean rank index, Hits@k (as shares) and the query count.

    Args:
        ranks: One per query, from one.
        rivals: How many entities each answer was compared with.
        weights: How much each query counts; evenly, if not given.
    """
    if len(ranks) == 0:
        return {**dict.fromkeys(METRICS, float("nan")), "queries": 0}
    share = np.full(len(ranks), 1.0 / len(ranks)) if weights is None else weights / weights.sum()
    # A guess ranks in the middle on average: rivals / 2 places below the top.
    expected = float(share @ (rivals / 2))
    mean_rank = float(share @ ranks)
    return {
        "mr": mean_rank,
        "mrr": float(share @ (1.0 / ranks)),
        "amri": 1.0 - (mean_rank - 1.0) / expected if expected else float("nan"),
        **{f"hits@{k}": float(share @ (ranks <= k)) for k in HITS},
        "queries": len(ranks),
    }
