"""Asking a trained model: how good it is, what is missing, why, and what its concepts are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.errors import ConfigError
from itransf.evaluation import Evaluation, evaluate
from itransf.evaluation.metrics import BucketEdges, Weighting
from itransf.evaluation.ranking import DEFAULT_MEMORY as RANKING_MEMORY
from itransf.evaluation.ranking import Ties
from itransf.interpret import (
    RARE,
    Attention,
    ConceptCard,
    Explanation,
    RelationProfile,
    SharingGraph,
    build_sharing_graph,
    explain,
    make_cards,
    profile_relation,
    read_attention,
)
from itransf.models import ITransF, Model
from itransf.prediction import Prediction, ScoredTriple, complete, score_triples
from itransf.prediction.given import GivenTriple
from itransf.prediction.searching import DEFAULT_MEMORY as SEARCH_MEMORY


class Answering:
    """A trained model with the graph it knows: what can be asked of it, and changes nothing."""

    graph: Graph
    config: Config
    model: Model
    concept_names: Mapping[int, str]

    def evaluate(
        self,
        split: str = "test",
        ties: Ties = "realistic",
        memory: int = RANKING_MEMORY,
        buckets: int = 3,
        bucket_edges: BucketEdges = "count",
        bucket_weighting: Weighting = "relation",
        progress: bool = False,
    ) -> Evaluation:
        """Rank a split's triples among all entities (filtered with train, valid and test) and summarise.

        Args:
            split: "train", "valid" or "test".
            ties: What a rival with the same score counts: half (`realistic`), nothing, or one.
            memory: Bytes for one chunk of scores.
            buckets: How many frequency buckets; those that no relation falls into are left out.
            bucket_edges: `count` (as many relations in each) or `log` (equal width in log frequency).
            bucket_weighting: `relation` (each relation counts the same, as in the paper) or `query`.
            progress: Whether to show it.

        Raises:
            DataError: The split has no triples.
            ConfigError: There is no such way to count ties or to weigh buckets, or a number is none or too small.
        """
        return evaluate(self.model, self.graph, split, ties, memory, buckets, bucket_edges, bucket_weighting, progress)

    def predict(
        self,
        head: str | None = None,
        relation: str | None = None,
        tail: str | None = None,
        *,
        top: int = 10,
        candidates: Sequence[str] | None = None,
        in_domain: bool | None = None,
        include_known: bool = False,
        memory: int = SEARCH_MEMORY,
        progress: bool = False,
    ) -> list[Prediction]:
        """Return the most plausible triples that complete what is given, best first.

        Head and relation ask for tails, relation and tail for heads, head and tail for relations, a relation alone for
        its most plausible triples. Labels may stand for names.

        Args:
            head: The given head.
            relation: The given relation.
            tail: The given tail.
            top: How many answers.
            candidates: The only answers that count: entities, or relations where head and tail are given.
            in_domain: Whether only entities count that train has on that side of the relation, or relations that have
                the two there; by default for a relation alone.
            include_known: Whether triples of train, valid and test may be answers.
            memory: Bytes for one chunk of scores.
            progress: Whether to show the progress of searching a whole relation.

        Raises:
            DataError: A name is not known.
            ConfigError: What is given asks for nothing.
        """
        return complete(
            self.model,
            self.graph,
            head=head,
            relation=relation,
            tail=tail,
            top=top,
            candidates=candidates,
            in_domain=in_domain,
            include_known=include_known,
            memory=memory,
            progress=progress,
        )

    def score(
        self,
        triples: Iterable[GivenTriple],
        memory: int = SEARCH_MEMORY,
        progress: bool = False,
        *,
        locate: Callable[[int], str] | None = None,
    ) -> list[ScoredTriple]:
        """Return score, filtered ranks and percentile of each triple, in the order given.

        Rivals are those of `predict` and `explain`: a triple whose head is its tail is none unless train has such
        triples of the relation.

        Args:
            triples: Names or labels of head, relation and tail, in this order or by these words; predictions do as
                well.
            memory: Bytes for one chunk of scores.
            progress: Whether to show it.
            locate: Names the place of a triple (numbered from 0) in messages; "triple 1" and so on, if not given.

        Raises:
            DataError: A name is not known.
        """
        return score_triples(self.model, self.graph, triples, memory, progress, locate=locate)

    def concepts(self) -> Attention:
        """Return which concepts each side of each relation uses, and how strongly."""
        if not isinstance(self.model, ITransF):
            raise ConfigError(f'a {self.config.name} model has no concepts; train one with model.name = "itransf"')
        return read_attention(self.model, self.graph)

    def explain(
        self,
        head: str,
        relation: str,
        tail: str,
        *,
        side: str = "tail",
        evidence: int = 3,
        removals: bool = True,
        memory: int = SEARCH_MEMORY,
    ) -> Explanation:
        """Explain the score of a triple, known or not.

        Args:
            head: The head's name or label.
            relation: The relation's name or label.
            tail: The tail's name or label.
            side: The side whose entity counts as the answer: it is compared with its closest rival there.
            evidence: How many training triples of each kind to name.
            removals: Whether to rank the answer again without each concept, which takes most of the time.
            memory: Bytes for projected entities.

        Raises:
            DataError: A name is not known.
            ConfigError: There is no such side, or the model's score cannot be split.
        """
        return explain(
            self.model,
            self.graph,
            head,
            relation,
            tail,
            side=side,
            evidence=evidence,
            removals=removals,
            names=self.concept_names,
            memory=memory,
        )

    def relation(self, name: str, top: int = 3) -> RelationProfile:
        """Return what a relation is made of, and its inverse, equivalent and sub-relation candidates."""
        return profile_relation(self.model, self.graph, name, top)

    def cards(
        self, concepts: Iterable[int | str] | None = None, most_triples: int = 1000, progress: bool = False
    ) -> list[ConceptCard]:
        """Return what concepts do, and what is lost without them.

        Args:
            concepts: Their numbers, or the names they were given, the cards coming in this order; all that are used if
                not given, those that are missed most first.
            most_triples: The most validation triples ranked again for one card, evenly chosen; zero takes all.
            progress: Whether to show it.

        Raises:
            ConfigError: There is no such concept, or the model has none.
        """
        attention = self.concepts()
        assert isinstance(self.model, ITransF), "only such a model has concepts"
        return make_cards(self.model, self.graph, attention, concepts, self.concept_names, most_triples, progress)

    def sharing(self) -> SharingGraph:
        """Return which relations share concepts, and who lends strength to the rare ones."""
        return build_sharing_graph(self.concepts(), self.graph.statistics.frequency_buckets() == RARE)
