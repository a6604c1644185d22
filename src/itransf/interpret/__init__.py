"""Reading a trained model: attention, the sharing of concepts, heat maps, tables of what was learned."""

from __future__ import annotations

from itransf.interpret.alignment import align_concepts
from itransf.interpret.attention import Attention, AttentionRow, ConceptWeight, choose_relations, read_attention
from itransf.interpret.cards import ConceptCard, make_cards
from itransf.interpret.explanation import Explanation, explain
from itransf.interpret.export import export, export_tables, write_attention
from itransf.interpret.heatmap import format_heatmap
from itransf.interpret.measures import Interpretation, interpret_runs
from itransf.interpret.measures.statistics import Finding
from itransf.interpret.measures.structure import read_model
from itransf.interpret.measures.verdicts import write_verdict
from itransf.interpret.naming import call_concept, check_names
from itransf.interpret.plot import find_missing_letters, write_heatmap, write_reliability
from itransf.interpret.sentences import tabulate_split
from itransf.interpret.sharing import (
    RARE,
    SharedConcept,
    SharingGraph,
    Use,
    build_sharing_graph,
    concepts_behind,
    name_concepts,
    trace_sharing,
)
from itransf.interpret.similarity import RelationProfile, profile_relation

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
    "align_concepts",
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
    "name_concepts",
    "profile_relation",
    "read_attention",
    "read_model",
    "tabulate_split",
    "trace_sharing",
    "write_attention",
    "write_heatmap",
    "write_reliability",
    "write_verdict",
]
