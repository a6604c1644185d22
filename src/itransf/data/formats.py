"""Files that hold no table of triples, told by their name or first line before anything is made of them."""

from __future__ import annotations

import re

from itransf.data.contents import strip_compression
from itransf.errors import DataError

_OTHERS = {
    "JSON": (".json", ".jsonl", ".ndjson", ".jsonld"),
    "Excel": (".xlsx", ".xls", ".xlsm", ".ods"),
    "RDF": (".nt", ".nq", ".ttl", ".rdf", ".owl", ".n3", ".trig"),
}
_STATEMENT = re.compile(rb"\s*(<[^<>\s]*>|_:\S+)\s+<[^<>\s]*>\s+(<|_:|\").*\.\s*(#.*)?")  # a line of N-Triples


def refuse_other_formats(content: bytes, name: str, where: str) -> None:
    """Refuse a file that its name or its first line shows to be no table.

    Args:
        content: The file's bytes, expanded.
        name: Its name.
        where: What to call it in messages.
    """
    plain = strip_compression(name).lower()
    kind = next((kind for kind, endings in _OTHERS.items() if plain.endswith(endings)), None)
    if kind is None and _STATEMENT.fullmatch(content.lstrip()[:4096].partition(b"\n")[0]):
        kind = "RDF (N-Triples)"
    if kind is not None:
        raise DataError(
            f"{where}: {kind} files are not read; write the triples as a table of three columns "
            "(head, relation, tail): Parquet, CSV or TSV"
        )
