"""TransE."""

from __future__ import annotations

from itransf.models.translation import Translation


class TransE(Translation):
    """-|h + r - t|   (Bordes et al., 2013)."""
