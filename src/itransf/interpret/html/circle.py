"""The sharing graph drawn as a circle of relations: neighbours share most, and rare relations are marked."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from itransf.interpret.clustering import order_leaves
from itransf.interpret.sharing import Link, Member, SharingGraph

MOST_RELATIONS = 60
"""Maximum number of relations in the circle."""
LINKS, LEAST = 3, 0.15  # lines of each relation, and the weight from which one is drawn
DONORS, LEAST_TRANSFER = 2, 0.05  # the same for the donors of rare relations
SIZE = 940
_MIDDLE = SIZE / 2
_LETTERS, _LETTER = 30, 7.8  # the most letters of a label, and the width of one


def draw_circle(graph: SharingGraph) -> dict[str, Any]:
    """Return the lines and nodes of the circle, with places and sizes as text for an SVG."""
    shown = choose_members(graph)
    order = order_around(shown, graph.links)
    angles = {shown[number].relation: 2 * math.pi * place / max(len(order), 1) for place, number in enumerate(order)}
    numbers = {member.relation: number for number, member in enumerate(shown)}
    radius = _MIDDLE - 20 - _LETTER * max((min(len(member.label), _LETTERS) for member in shown), default=0)

    def draw_line(left: str, right: str, kind: str, width: float, opacity: float) -> dict[str, Any]:
        return {
            "path": write_chord(angles[left], angles[right], radius),
            "kind": kind,
            "width": f"{width:.2f}",
            "opacity": f"{opacity:.2f}",
            "left": numbers[left],
            "right": numbers[right],
        }

    links = [
        draw_line(link.left, link.right, "crossed" * link.crossed, 0.6 + 4 * link.weight, 0.15 + 0.5 * link.weight)
        for link in choose_links(graph, shown)
    ]
    links += [
        draw_line(donor.relation, member.relation, "lends", 0.8 + 5 * donor.share, min(0.9, 0.35 + donor.share))
        for member in shown
        if member.rare
        for donor in member.donors[:DONORS]
        if donor.relation in angles and donor.share >= LEAST_TRANSFER
    ]
    most = max((member.train_triples for member in shown), default=1)
    nodes = [
        draw_node(member, angles[member.relation], radius, member.train_triples / max(most, 1)) for member in shown
    ]
    return {"size": SIZE, "links": links, "nodes": nodes, "left_out": len(graph.members) - len(shown)}


def choose_members(graph: SharingGraph) -> list[Member]:
    """Return all relations, or the rare ones that learned most from others, with their donors, then frequent ones."""
    if len(graph.members) <= MOST_RELATIONS:
        return list(graph.members)
    known = {member.relation for member in graph.members}
    wanted: dict[str, None] = {}
    for member in graph.rare:
        group = [member.relation, *(donor.relation for donor in member.donors[:DONORS] if donor.relation in known)]
        if len(wanted.keys() | set(group)) > MOST_RELATIONS:
            break
        wanted |= dict.fromkeys(group)
    for member in graph.members:
        if len(wanted) < MOST_RELATIONS:
            wanted[member.relation] = None
    return [member for member in graph.members if member.relation in wanted]


def choose_links(graph: SharingGraph, shown: Sequence[Member]) -> list[Link]:
    """Return the strongest links between the relations shown, a few of each relation."""
    names, taken, chosen = {member.relation for member in shown}, Counter[str](), []
    for link in graph.links:
        both = (link.left, link.right)
        if link.weight < LEAST or not names.issuperset(both) or min(taken[name] for name in both) >= LINKS:
            continue
        taken.update(both)
        chosen.append(link)
    return chosen


def order_around(shown: Sequence[Member], links: Sequence[Link]) -> list[int]:
    """Return an order around the circle in which relations that share are neighbours."""
    places = {member.relation: place for place, member in enumerate(shown)}
    distance = np.ones((len(shown), len(shown)))
    for link in links:
        if link.left in places and link.right in places:
            left, right = places[link.left], places[link.right]
            distance[left, right] = distance[right, left] = 1.0 - link.weight
    return order_leaves(distance)


def write_chord(start: float, end: float, radius: float) -> str:
    """Return a curve between two places on the circle that dips towards the middle, the deeper the farther apart."""
    turn = abs((start - end + math.pi) % (2 * math.pi) - math.pi)
    dip = radius * max(0.08, 0.82 - 0.95 * turn / math.pi)
    first, *rest = (_place(start, radius), _place(start, dip), _place(end, dip), _place(end, radius))
    return f"M{first[0]:.1f} {first[1]:.1f}C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in rest)


def draw_node(member: Member, angle: float, radius: float, share: float) -> dict[str, Any]:
    """Return a relation's dot and its label, which reads outwards and never upside down."""
    x, y = _place(angle, radius)
    text_x, text_y = _place(angle, radius + 14)
    is_left = math.cos(angle) < -1e-9
    degrees = math.degrees(angle) + (180 if is_left else 0)
    return {
        "rare": member.rare,
        "title": member.describe(),
        "x": f"{x:.1f}",
        "y": f"{y:.1f}",
        "radius": f"{3.5 + 6 * math.sqrt(share):.1f}",
        "transform": f"translate({text_x:.1f},{text_y:.1f}) rotate({degrees:.1f})",
        "anchor": "end" if is_left else "start",
        "label": member.label if len(member.label) <= _LETTERS else "…" + member.label[-_LETTERS + 1 :],
    }


def _place(angle: float, radius: float) -> tuple[float, float]:
    return _MIDDLE + radius * math.cos(angle), _MIDDLE + radius * math.sin(angle)
