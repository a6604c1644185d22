"""The sharing graph as a circle of relations: neighbours share most, lines say how much, rare relations are marked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from itransf.interpret.heatmap import order_leaves
from itransf.interpret.pages.markup import Markup, element
from itransf.interpret.sharing import Link, Member, SharingGraph

MOST_RELATIONS = 60
"""The most relations the circle shows."""
LINKS, LEAST = 3, 0.15  # lines of each relation, and the weight from which one is drawn
DONORS, LEAST_LENT = 2, 0.05  # the same for what is lent to rare relations
_SIZE, _LETTERS, _LETTER = 940, 30, 7.8  # of the drawing; the most letters of a label; the width of one
_MIDDLE = _SIZE / 2


def choose_members(graph: SharingGraph, most: int = MOST_RELATIONS) -> list[Member]:
    """Return the relations to show: all, or rare ones that borrow most with their donors, then the most frequent."""
    if len(graph.members) <= most:
        return list(graph.members)
    known = {member.relation: member for member in graph.members}
    wanted: dict[str, None] = {}
    for member in graph.rare:
        group = [member.relation, *(donor.relation for donor in member.donors[:DONORS] if donor.relation in known)]
        if len(wanted.keys() | set(group)) > most:
            break
        wanted |= dict.fromkeys(group)
    for member in graph.members:
        if len(wanted) < most:
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
    """Return an order around the circle in which relations that share stand together."""
    places = {member.relation: place for place, member in enumerate(shown)}
    distance = np.ones((len(shown), len(shown)))
    for link in links:
        if link.left in places and link.right in places:
            left, right = places[link.left], places[link.right]
            distance[left, right] = distance[right, left] = 1.0 - link.weight
    return order_leaves(distance) if len(shown) else []


def draw_circle(graph: SharingGraph, most: int = MOST_RELATIONS) -> Markup:
    """Return the sharing graph as SVG."""
    shown = choose_members(graph, most)
    order = order_around(shown, graph.links)
    angles = {shown[number].relation: 2 * math.pi * place / max(len(order), 1) for place, number in enumerate(order)}
    numbers = {member.relation: number for number, member in enumerate(shown)}
    radius = _MIDDLE - 20 - _LETTER * max((min(len(member.label), _LETTERS) for member in shown), default=0)
    lines = [_draw_link(link, angles, numbers, radius) for link in choose_links(graph, shown)]
    lent = [
        _draw_loan(donor.relation, member.relation, donor.share, angles, numbers, radius)
        for member in shown
        if member.rare
        for donor in member.donors[:DONORS]
        if donor.relation in angles and donor.share >= LEAST_LENT
    ]
    most_triples = max((member.train_triples for member in shown), default=1)
    nodes = [
        _draw_node(
            member,
            angles[member.relation],
            numbers[member.relation],
            radius,
            member.train_triples / max(most_triples, 1),
        )
        for member in shown
    ]
    return element(
        "svg",
        *lines,
        *lent,
        *nodes,
        viewBox=f"0 0 {_SIZE} {_SIZE}",
        role="img",
        aria_label=f"{len(shown)} relations and the concepts they share",
    )


def _place(angle: float, radius: float) -> tuple[float, float]:
    return _MIDDLE + radius * math.cos(angle), _MIDDLE + radius * math.sin(angle)


def _write_chord(start: float, end: float, radius: float) -> str:
    """Return a curve between two places on the circle that dips towards the middle, the deeper the farther apart."""
    turn = abs((start - end + math.pi) % (2 * math.pi) - math.pi)
    dip = radius * max(0.08, 0.82 - 0.95 * turn / math.pi)
    points = (_place(start, radius), _place(start, dip), _place(end, dip), _place(end, radius))
    (x0, y0), *rest = points
    return f"M{x0:.1f} {y0:.1f}C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in rest)


def _draw_link(link: Link, angles: dict[str, float], numbers: dict[str, int], radius: float) -> Markup:
    return element(
        "path",
        d=_write_chord(angles[link.left], angles[link.right], radius),
        class_="crossed" if link.crossed else None,
        stroke_width=f"{0.6 + 4 * link.weight:.2f}",
        stroke_opacity=f"{0.15 + 0.5 * link.weight:.2f}",
        data_a=numbers[link.left],
        data_b=numbers[link.right],
    )


def _draw_loan(
    donor: str, rare: str, share: float, angles: dict[str, float], numbers: dict[str, int], radius: float
) -> Markup:
    return element(
        "path",
        d=_write_chord(angles[donor], angles[rare], radius),
        class_="lends",
        stroke_width=f"{0.8 + 5 * share:.2f}",
        stroke_opacity=f"{min(0.9, 0.35 + share):.2f}",
        stroke_dasharray="5 3",
        data_a=numbers[donor],
        data_b=numbers[rare],
    )


def _draw_node(member: Member, angle: float, number: int, radius: float, share: float) -> Markup:
    """Return a relation's dot and its label, which reads outwards and never upside down."""
    x, y = _place(angle, radius)
    text_x, text_y = _place(angle, radius + 14)
    turned = math.cos(angle) < -1e-9
    degrees = math.degrees(angle) + (180 if turned else 0)
    label = member.label if len(member.label) <= _LETTERS else "…" + member.label[-_LETTERS + 1 :]
    return element(
        "g",
        element("title", member.describe()),
        element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{3.5 + 6 * math.sqrt(share):.1f}"),
        element(
            "text",
            label,
            transform=f"translate({text_x:.1f},{text_y:.1f}) rotate({degrees:.1f})",
            text_anchor="end" if turned else "start",
            dominant_baseline="middle",
        ),
        class_="node rare" if member.rare else "node",
        data_n=number,
        tabindex=0,
    )


def show_sharing(graph: SharingGraph, most: int = MOST_RELATIONS) -> Markup:
    """Return the circle with its legend, for a page that runs circle.js."""
    left = max(0, len(graph.members) - most)
    rest = ""
    if left:
        chosen = "rare ones that borrow most, and their donors"
        rest = f" The circle shows {most} of {len(graph.members):,} relations: {chosen}; {left:,} are left out."
    hint = f"Tap a relation to see what it shares, and with whom.{rest}"
    kinds = {
        "--soft": "share concepts on the same sides",
        "--accent": "share them crosswise, as inverse relations do",
        "--second": "dashed: lends strength to a rare relation",
    }
    legend = [element("span", element("i", style=f"background:var({colour})"), text) for colour, text in kinds.items()]
    return element(
        "div",
        element("p", hint, class_="soft small", data_part="note", aria_live="polite"),
        element("div", draw_circle(graph, most), class_="scroll"),
        element("p", *legend, class_="legend"),
        class_="panel circle",
        data_circle=True,
    )
