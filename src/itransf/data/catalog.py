"""The datasets that can be loaded by name: what they are, and where their files come from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PackagedFiles:
    """Where a dataset lies inside a file of the package index.

    Attributes:
        project: The project on the index.
        filename: The archive's name there.
        sha256: The archive's checksum.
        folder: The folder of the dataset inside the archive.
    """

    project: str
    filename: str
    sha256: str
    folder: str


@dataclass(frozen=True)
class Dataset:
    """A graph with a name.

    Attributes:
        name: What to load it by.
        title: Its usual spelling, and the name of its folder or archive.
        description: What the triples are about, in one sentence.
        licence: Under which terms the triples may be used.
        origin: Where it comes from, in one sentence.
        counts: Entities, relations and triples per split, by word; empty where they are only known once loaded.
        checksums: The sha256 of each file.
        packaged: Where it can be fetched from, if anywhere.
    """

    name: str
    title: str
    description: str
    licence: str
    origin: str
    counts: dict[str, int] = field(default_factory=dict)
    checksums: dict[str, str] = field(default_factory=dict)
    packaged: PackagedFiles | None = None

    @property
    def built_in(self) -> bool:
        """Whether it comes with this package, so that nothing need be found or fetched."""
        return not self.checksums


def find_dataset(name: str) -> Dataset | None:
    """Return the dataset a name stands for, whatever its case and hyphens; None if there is none."""
    plain = simplify(name)
    return next((dataset for key, dataset in DATASETS.items() if simplify(key) == plain), None)


def simplify(name: str) -> str:
    """Return a name in lower case without hyphens and underscores; anything like a path stays apart."""
    return re.sub(r"[-_ ]", "", name.lower())


def _count(entities: int, relations: int, train: int, valid: int, test: int) -> dict[str, int]:
    return {"entities": entities, "relations": relations, "train": train, "valid": valid, "test": test}


def _check(train: str, valid: str, test: str) -> dict[str, str]:
    return {"train.txt": train, "valid.txt": valid, "test.txt": test}


def _in_neuralkg(folder: str) -> PackagedFiles:
    return PackagedFiles(
        project="neuralkg",
        filename="neuralkg-1.0.18.tar.gz",
        sha256="6a6a9b902749da31fc7f93e6b1a1f72115b271a06092a2d133a785644f19f5df",
        folder=f"neuralkg-1.0.18/dataset/{folder}",
    )


_NEURALKG = "The source archive of neuralkg 1.0.18 on the package index (39.7 MB)."
_WORDNET = "WordNet 3.0 licence"

_ALL = (
    Dataset(
        name="wn18",
        title="WN18",
        description="WordNet synsets and how they relate, inverse relations included (Bordes et al., 2013).",
        licence=_WORDNET,
        origin=_NEURALKG,
        counts=_count(40943, 18, 141442, 5000, 5000),
        checksums=_check(
            train="24c9b02dc57d3ae8ca8467ce355995edee7be8eddc3bd070ee34d3c6fc3c95eb",
            valid="13347bfb5e17d1cae003e0bfe29b4716d3ab748e8cfb6af997138d37da3a51dc",
            test="d22c19d176d4ba6a6f0d0c6bfce39ab3c16e3b20e1df6f9efe0d9ed86542fa10",
        ),
        packaged=_in_neuralkg("WN18"),
    ),
    Dataset(
        name="fb15k",
        title="FB15k",
        description="Freebase triples about people, places, films and more (Bordes et al., 2013).",
        licence="CC BY 2.5",
        origin=_NEURALKG,
        counts=_count(14951, 1345, 483142, 50000, 59071),
        checksums=_check(
            train="f9cdfd2685f6483bd3a499d433919b15d62f0715c6cf18b2ca30c2aa5c47a704",
            valid="471929cde9cf74b1caa8348c2b601c8010d6b2f2a56bae49b4ebfd14c9bce855",
            test="5b60b4de325482c3368e22d0b7452d465b09a610fea0ce3768d8b1e8b5a7e42a",
        ),
        packaged=_in_neuralkg("FB15K"),
    ),
    Dataset(
        name="wn18rr",
        title="WN18RR",
        description="WN18 without its inverse relations (Dettmers et al., 2018).",
        licence=_WORDNET,
        origin=_NEURALKG,
        counts=_count(40943, 11, 86835, 3034, 3134),
        checksums=_check(
            train="038612e783c215ee5f3ca9fbfca27b8d0739be1028fe4ee7c174aecf0b83d5df",
            valid="453ce7202afa58094a04d2b1560ee2b02660f1c260b32ce6651c8ccedd1028ab",
            test="0383bceaaa1096cf3c03ec021ed0048068e2355dbfc0239b292cefdac821cec5",
        ),
        packaged=_in_neuralkg("WN18RR"),
    ),
    Dataset(
        name="fb15k-237",
        title="FB15k-237",
        description="FB15k without its near-duplicate and inverse relations (Toutanova and Chen, 2015).",
        licence="Microsoft Research Data License Agreement (non-commercial or research use)",
        origin=_NEURALKG,
        counts=_count(14541, 237, 272115, 17535, 20466),
        checksums=_check(
            train="61099230e4439f90885ca9767739e31e8e32f54736fa1c35952b27997bc7c08a",
            valid="749cbe9d923bac7b9354da5614ecfed2e0220256d442c3e04a6b303db1f273d9",
            test="e2e35e8e6113de220140b6f44dc71a5207b0fc6872d575e874aefe13259b655b",
        ),
        packaged=_in_neuralkg("FB15K237"),
    ),
    Dataset(
        name="nations",
        title="Nations",
        description="Fourteen countries and how they treated each other (Kemp et al., 2006).",
        licence="MIT (as distributed with PyKEEN)",
        origin="The wheel of pykeen 1.11.1 on the package index (0.7 MB).",
        counts=_count(14, 55, 1592, 199, 201),
        checksums=_check(
            train="0830fa9da8e5bba2ccdaa45b7bdc9130451ba66b09ff2708f35fccaf82473e57",
            valid="2b337a62e51a2f45c283eac98a70d21b7e0e102136be1539b2a52c652a7b0530",
            test="3971085165b47b6aeaec68058c6d8d98b3005e929db81268410b95ae4db770ab",
        ),
        packaged=PackagedFiles(
            project="pykeen",
            filename="pykeen-1.11.1-py3-none-any.whl",
            sha256="b6cc0ab012fc6ba4f37b58fb7081a409a5c1f04cbbb0e0e9c2256e911757d4ba",
            folder="pykeen/datasets/nations",
        ),
    ),
    Dataset(
        name="codex-s",
        title="CoDEx-S",
        description="Wikidata triples, small and checked by hand (Safavi and Koutra, 2020).",
        licence="MIT",
        origin="The repository tsafavi/codex, folder data/triples/codex-s; on no package index.",
        counts=_count(2034, 42, 32888, 1827, 1828),
        checksums=_check(
            train="64f93b7f314f3936a6f65739721429db3f6a7c8f5a1e1104ec3bb544f7434f59",
            valid="3831c0e57daef03c3a18cdd1a72e370b496f696c5218883d35c7d2ab8a6a772c",
            test="27127fcb34688c4778e88a39ef3c9b540807da846021e9d9685660ac1838aca1",
        ),
    ),
    Dataset(
        name="world",
        title="world",
        description="Countries, cities, currencies, languages, regions, neighbours and organisations.",
        licence="CC BY 4.0, naming GeoNames and Unicode CLDR",
        origin="Bundled with this package; sources stand beside its files.",
        counts=_count(1542, 33, 8290, 1037, 1037),
    ),
    Dataset(
        name="planted",
        title="planted",
        description="A generated graph whose true concepts are known; the seed chooses which.",
        licence="None needed",
        origin="Generated by this package.",
    ),
)

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
"""Every dataset that can be loaded by name."""
