"""Reading a trained model: attention, the sharing of concepts, heat maps, tables of what was learned."""

from __future__ import annotations

from itransf.interpret.attention import Attention, AttentionRow, ConceptWeight, read_attention
from itransf.interpret.cards import ConceptCard, make_cards
from itransf.interpret.choosing import choose_relations
from itransf.interpret.explaining import explain
from itransf.interpret.explanations import Explanation
from itransf.interpret.heatmap import find_missing_letters, write_heatmap
from itransf.interpret.lending import RARE, SharingGraph, build_sharing_graph
from itransf.interpret.measures import Finding, Interpretation, interpret_runs, read_model
from itransf.interpret.naming import call_concept, check_names
from itransf.interpret.profiles import RelationProfile, profile_relation
from itransf.interpret.report import write_report
from itransf.interpret.sharing import SharedConcept, Use, concepts_behind, trace_sharing
from itransf.interpret.tables import export, export_tables, write_attention
from itransf.interpret.text import format_heatmap

__all__ = [
    "RARE",
    "Attention",
    "AttentionRow",
    "ConceptCard",
    "ConceptWeight",
    "Explanation",
    "Finding",
    "Interpretation",
    "RelationProfile",
    "SharedConcept",
    "SharingGraph",
    "Use",
    "build_sharing_graph",
    "call_concept",
    "check_names",
    "choose_relations",
    "concepts_behind",
    "explain",
    "export",
    "export_tables",
    "find_missing_letters",
    "format_heatmap",
    "interpret_runs",
    "make_cards",
    "profile_relation",
    "read_attention",
    "read_model",
    "trace_sharing",
    "write_attention",
    "write_heatmap",
    "write_report",
]
