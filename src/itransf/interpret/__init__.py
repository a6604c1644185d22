"""Reading a trained model: attention, the sharing of concepts, heat maps, tables of what was learned."""

from __future__ import annotations

from itransf.interpret.attention import Attention as Attention
from itransf.interpret.attention import ConceptWeight as ConceptWeight
from itransf.interpret.attention import choose_relations as choose_relations
from itransf.interpret.attention import read_attention as read_attention
from itransf.interpret.cards import ConceptCard as ConceptCard
from itransf.interpret.cards import make_cards as make_cards
from itransf.interpret.explanation import Explanation as Explanation
from itransf.interpret.explanation import explain as explain
from itransf.interpret.export import export as export
from itransf.interpret.export import export_tables as export_tables
from itransf.interpret.export import write_attention as write_attention
from itransf.interpret.heatmap import format_heatmap as format_heatmap
from itransf.interpret.measures import Interpretation as Interpretation
from itransf.interpret.measures import interpret_runs as interpret_runs
from itransf.interpret.measures import write_verdict as write_verdict
from itransf.interpret.measures.structure import read_model as read_model
from itransf.interpret.plot import find_missing_letters as find_missing_letters
from itransf.interpret.plot import write_heatmap as write_heatmap
from itransf.interpret.plot import write_reliability as write_reliability
from itransf.interpret.sentences import tabulate_split as tabulate_split
from itransf.interpret.sharing import RARE as RARE
from itransf.interpret.sharing import SharedConcept as SharedConcept
from itransf.interpret.sharing import SharingGraph as SharingGraph
from itransf.interpret.sharing import Use as Use
from itransf.interpret.sharing import align_concepts as align_concepts
from itransf.interpret.sharing import build_sharing_graph as build_sharing_graph
from itransf.interpret.sharing import call_concept as call_concept
from itransf.interpret.sharing import check_names as check_names
from itransf.interpret.sharing import concepts_behind as concepts_behind
from itransf.interpret.sharing import name_concepts as name_concepts
from itransf.interpret.sharing import trace_sharing as trace_sharing
from itransf.interpret.similarity import RelationProfile as RelationProfile
from itransf.interpret.similarity import profile_relation as profile_relation
