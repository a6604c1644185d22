from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from itransf.config import NegativesConfig
from itransf.data.graph import Graph
from itransf.registry import SAMPLERS
from itransf.training.negatives import Corruption, NegativeSampler, domain_probabilities

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

CPU = torch.device("cpu")
PLAIN = NegativesConfig(per_triple=1, sampler="uniform", domain=0.0, filtered=False, tries=5)


def make_sampler(graph: Graph, **settings: Any) -> NegativeSampler:
    config = replace(PLAIN, **settings)
    sampler: NegativeSampler = SAMPLERS[config.sampler](graph, config, CPU)
    return sampler


def draw(sampler: NegativeSampler, triple: int, count: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Corrupt one triple again and again: whether the head was replaced, and by what, (count,) each."""
    triples = torch.full((count,), triple)
    replaces_head, replacements = sampler.corrupt(triples, 1, torch.Generator().manual_seed(seed))
    return replaces_head, replacements.squeeze(1)


@pytest.fixture
def star(number_graph: GraphMaker) -> Graph:
    """One head with four tails (relation 0), four heads with one tail (relation 1), among 12 entities."""
    train = [(0, 0, tail) for tail in (1, 2, 3, 4)] + [(head, 1, 9) for head in (5, 6, 7, 8)]
    return number_graph(train, valid=[(10, 0, 11), (10, 1, 11)], entities=12)


class TestSides:
    def test_uniform_corruption_flips_a_fair_coin(self, star: Graph) -> None:
        for triple in (0, 4):
            replaces_head, _ = draw(make_sampler(star, sampler="uniform"), triple, 4000)
            assert float(replaces_head.float().mean()) == pytest.approx(0.5, abs=0.04)

    def test_bernoulli_replaces_the_side_that_is_less_likely_right(self, star: Graph) -> None:
        sampler = make_sampler(star, sampler="bernoulli")
        # Relation 0 has 4 tails per head and 1 head per tail: its head is replaced with 4 / (4 + 1).
        for triple, wanted in ((0, 0.8), (4, 0.2)):
            replaces_head, _ = draw(sampler, triple, 4000)
            assert float(replaces_head.float().mean()) == pytest.approx(wanted, abs=0.04)

    def test_only_one_side_is_replaced_and_by_as_many_as_asked(self, star: Graph) -> None:
        triples = torch.tensor([2, 0, 7])
        replaces_head, replacements = make_sampler(star).corrupt(triples, 6, torch.Generator().manual_seed(0))
        assert replaces_head.shape == (3,)
        assert replacements.shape == (3, 6)
        assert int(replacements.min()) >= 0
        assert int(replacements.max()) < 12

    def test_replacements_without_domain_sampling_are_uniform(self, star: Graph) -> None:
        _, replacements = draw(make_sampler(star), 0, 12_000)
        shares = torch.bincount(replacements, minlength=12) / 12_000
        assert shares.tolist() == pytest.approx([1 / 12] * 12, abs=0.015)

    def test_one_seed_gives_one_corruption(self, star: Graph) -> None:
        sampler = make_sampler(star, domain=0.5, filtered=True)
        first, again, other = (draw(sampler, 1, 50, seed) for seed in (3, 3, 4))
        assert torch.equal(first[1], again[1])
        assert not torch.equal(first[1], other[1])


class TestDomains:
    def test_probability_is_that_of_the_appendix_with_its_cap(self, star: Graph) -> None:
        # |M_tail| |M_head| / |N_r|: 4 * 1 / 4 for both relations, from train alone (valid has others).
        assert domain_probabilities(star.statistics, 1.0).tolist() == [0.5, 0.5]
        assert domain_probabilities(star.statistics, 0.001).tolist() == pytest.approx([0.001, 0.001])

    @pytest.mark.parametrize(("strength", "wanted"), [(0.1, 0.225), (0.2, 0.45), (0.3, 0.5), (50.0, 0.5)])
    def test_replacements_come_from_the_domain_as_often_as_the_paper_says(
        self, number_graph: GraphMaker, strength: float, wanted: float
    ) -> None:
        # Three heads, three tails, four triples: |M_tail| |M_head| / |N_r| = 9 / 4; capped at 0.5.
        train = [(0, 0, 3), (0, 0, 4), (1, 0, 4), (2, 0, 5)]
        graph = number_graph(train, test=[(6, 0, 7)], entities=60)
        replaces_head, replacements = draw(make_sampler(graph, domain=strength), 0, 20_000)
        for side, domain in ((replaces_head, {0, 1, 2}), (~replaces_head, {3, 4, 5})):
            found = np.isin(replacements[side].numpy(), list(domain)).mean()
            by_chance = (1 - wanted) * 3 / 60
            assert found == pytest.approx(wanted + by_chance, abs=0.025)

    def test_members_of_a_domain_are_drawn_evenly(self, number_graph: GraphMaker) -> None:
        train = [(0, 0, tail) for tail in (3, 7, 11, 20)] + [(1, 0, 3)]
        graph = number_graph(train, entities=1000)
        replaces_head, replacements = draw(make_sampler(graph, domain=9.0), 4, 20_000)
        counts = torch.bincount(replacements[~replaces_head], minlength=1000)[[3, 7, 11, 20]]
        assert (counts / counts.sum()).tolist() == pytest.approx([0.25] * 4, abs=0.03)

    def test_domains_come_from_train_only(self, number_graph: GraphMaker) -> None:
        train = [(0, 0, 1), (0, 0, 2), (3, 0, 4)]
        graph = number_graph(train, valid=[(5, 0, 6)], test=[(7, 0, 8)], entities=1000)
        _, replacements = draw(make_sampler(graph, domain=9.0), 0, 5000)
        counts = torch.bincount(replacements, minlength=1000)
        assert int(counts[[0, 3, 1, 2, 4]].min()) > 300
        assert int(counts[[5, 6, 7, 8]].max()) < 40

    def test_a_domain_without_unknown_candidates_falls_back_to_all_entities(self, star: Graph) -> None:
        # Every tail of relation 0 is already a tail of its only head.
        sampler = make_sampler(star, domain=50.0, filtered=True, sampler="uniform")
        replaces_head, replacements = draw(sampler, 0, 6000)
        tails = torch.bincount(replacements[~replaces_head], minlength=12) / int((~replaces_head).sum())
        assert tails[[1, 2, 3, 4]].tolist() == pytest.approx([0.0] * 4, abs=0.02)
        assert tails[[0, 5, 6, 7, 8, 9, 10, 11]].tolist() == pytest.approx([1 / 8] * 8, abs=0.03)


class TestKnownTriples:
    @pytest.mark.parametrize("domain", [0.0, 5.0])
    def test_training_triples_are_avoided_when_they_can_be(self, random_graph: GraphMaker, domain: float) -> None:
        graph = random_graph(entities=12, relations=3, train=80, valid=10, test=10)
        sampler = make_sampler(graph, filtered=True, tries=200, domain=domain)
        triples = torch.arange(80).repeat(5)
        replaces_head, replacements = sampler.corrupt(triples, 4, torch.Generator().manual_seed(0))
        train = {tuple(triple) for triple in graph.train.tolist()}
        later = {tuple(triple) for split in ("valid", "test") for triple in graph.split(split).tolist()}
        made = set()
        for triple, is_head, row in zip(triples.tolist(), replaces_head.tolist(), replacements.tolist(), strict=True):
            head, relation, tail = graph.train[triple].tolist()
            made |= {(e, relation, tail) if is_head else (head, relation, e) for e in row}
        assert not made & train
        assert made & later  # only training triples may be known to the sampler

    def test_training_triples_are_kept_when_filtering_is_off(self, star: Graph) -> None:
        replaces_head, replacements = draw(make_sampler(star, filtered=False), 0, 2000)
        assert bool(torch.isin(replacements[~replaces_head], torch.tensor([1, 2, 3, 4])).any())

    @pytest.mark.parametrize("domain", [0.0, 5.0])
    def test_a_complete_graph_ends_after_a_bounded_number_of_tries(
        self, number_graph: GraphMaker, domain: float
    ) -> None:
        graph = number_graph([(head, 0, tail) for head in range(4) for tail in range(4)])
        sampler = make_sampler(graph, filtered=True, tries=3, domain=domain)
        _, replacements = sampler.corrupt(torch.arange(16), 3, torch.Generator().manual_seed(0))
        assert replacements.shape == (16, 3)
        assert int(replacements.max()) < 4

    def test_keys_do_not_mix_up_triples_that_share_two_parts(self, number_graph: GraphMaker) -> None:
        # (1, 0, 0) is known, (0, 0, 1) and (1, 1, 0) are not.
        graph = number_graph([(1, 0, 0), (0, 1, 1)], entities=2)
        sampler = make_sampler(graph)
        triple = torch.tensor([0])
        assert sampler.tail.are_known(triple, torch.tensor([[0, 1]])).tolist() == [[True, False]]
        assert sampler.head.are_known(triple, torch.tensor([[0, 1]])).tolist() == [[False, True]]


def test_a_sampler_of_ones_own_may_define_corruption_alone(configure: Configure, star: Graph) -> None:
    class Always(NegativeSampler):
        def corrupt(self, triples: torch.Tensor, count: int, generator: torch.Generator) -> Corruption:
            return Corruption(torch.ones(len(triples), dtype=torch.bool), torch.zeros(len(triples), count).long())

    sampler = Always(star, configure("transe").negatives, torch.device("cpu"))
    assert bool(sampler.corrupt(torch.arange(3), 2, torch.Generator()).replaces_head.all())


def test_settings_reach_the_sampler(configure: Configure, star: Graph) -> None:
    config = configure("transe", "negatives.domain=0.3", "negatives.sampler=uniform")
    sampler = SAMPLERS[config.negatives.sampler](star, config.negatives, CPU)
    assert sampler.uses_domains
    assert sampler.head_chance.tolist() == [0.5, 0.5]


class TestSharedCopies:
    def test_triples_of_a_relation_in_a_batch_share_side_and_replacements(self, star: Graph) -> None:
        triples = torch.tensor([0, 1, 4, 5, 2, 3, 6, 7])  # two batches of four, sorted by relation
        shared = make_sampler(star).corrupt_together(triples, 5, 4, torch.Generator().manual_seed(0))
        assert shared.owners.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
        assert shared.replaces_head.shape == (4,)
        assert shared.replacements.shape == (4, 5)
        assert len(shared.replacements.unique(dim=0)) == 4

    def test_neighbouring_batches_of_one_relation_do_not_share(self, star: Graph) -> None:
        shared = make_sampler(star).corrupt_together(torch.arange(4), 3, 2, torch.Generator().manual_seed(0))
        assert shared.owners.tolist() == [0, 0, 1, 1]

    def test_the_side_is_drawn_as_for_single_triples(self, star: Graph) -> None:
        sampler = make_sampler(star, sampler="bernoulli")
        shared = sampler.corrupt_together(torch.zeros(4000, dtype=torch.long), 1, 1, torch.Generator().manual_seed(1))
        assert float(shared.replaces_head.float().mean()) == pytest.approx(0.8, abs=0.04)

    def test_what_is_a_training_triple_is_left_out(self, star: Graph) -> None:
        triples = torch.arange(8)
        for seed in range(5):
            generator = torch.Generator().manual_seed(seed)
            shared = make_sampler(star, filtered=True).corrupt_together(triples, 20, 8, generator)
            known = {tuple(triple) for triple in star.train.tolist()}
            own = shared.replaces_head[shared.owners], shared.replacements[shared.owners]
            for triple, is_head, row, marks in zip(triples, *own, shared.masked, strict=True):
                head, relation, tail = star.train[int(triple)].tolist()
                made = [(e, relation, tail) if is_head else (head, relation, e) for e in row.tolist()]
                assert marks.tolist() == [triple in known for triple in made]

    def test_nothing_is_left_out_where_known_triples_may_be_drawn(self, star: Graph) -> None:
        shared = make_sampler(star).corrupt_together(torch.arange(8), 20, 8, torch.Generator().manual_seed(0))
        assert not shared.masked.any()

    def test_replacements_come_partly_from_the_domain(self, number_graph: GraphMaker) -> None:
        train = [(head, 0, tail) for head in (0, 1, 2) for tail in (3, 4)][:5]
        graph = number_graph(train, entities=1000)
        generator = torch.Generator().manual_seed(0)
        shared = make_sampler(graph, domain=100.0).corrupt_together(torch.arange(5), 2000, 5, generator)
        assert float((shared.replacements < 5).float().mean()) == pytest.approx(0.5, abs=0.05)
