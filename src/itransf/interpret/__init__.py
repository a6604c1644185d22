"""Reading a trained model: attention, the sharing of concepts, heat maps, tables of what was learned."""

from __future__ import annotations

from itransf.interpret.attention import Attention, AttentionRow, ConceptWeight, read_attention
from itransf.interpret.heatmap import write_heatmap
from itransf.interpret.sharing import SharedConcept, Use, concepts_behind, trace_sharing
from itransf.interpret.tables import export, export_tables
from itransf.interpret.text import format_heatmap

__all__ = [
    "Attention",
    "AttentionRow",
    "ConceptWeight",
    "SharedConcept",
    "Use",
    "concepts_behind",
    "export",
    "export_tables",
    "format_heatmap",
    "read_attention",
    "trace_sharing",
    "write_heatmap",
]
