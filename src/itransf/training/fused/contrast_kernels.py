"""GPU kernel that scores triples beside their corrupted copies, with all gradients; see `kernels`."""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl

FAR = tl.constexpr(1e9)  # the distance of what is left out


@triton.jit
def measure_length(vectors, LENGTH: tl.constexpr):
    """Return what vectors (X, DIM) are divided by to have the configured length, (X,)."""
    norms = tl.sqrt(tl.sum(vectors * vectors, 1))
    if LENGTH == 1:
        return tl.maximum(norms, 1e-12)
    elif LENGTH == 2:  # noqa: RET505 - the compiler wants each return in a branch of its own
        return tl.maximum(norms, 1.0)
    else:
        return tl.zeros_like(norms) + 1.0


@triton.jit
def pull_back(gradient, limited, divisor, vectors, LENGTH: tl.constexpr):
    """Return the gradient before the length was limited."""
    if LENGTH != 0:
        free = tl.sqrt(tl.sum(vectors * vectors, 1)) < divisor  # inside the ball: divided by a constant
        along = tl.where(free, 0.0, tl.sum(gradient * limited, 1))
        gradient = (gradient - limited * along[:, None]) / divisor[:, None]
    return gradient


@triton.jit
def point(difference, length, NORM: tl.constexpr):
    """Return the gradient of the distance: signs for l1, the direction for l2."""
    if NORM == 1:
        return tl.where(difference > 0, 1.0, tl.where(difference < 0, -1.0, 0.0))
    else:  # noqa: RET505 - as above
        return difference / tl.where(length > 0, length, 1.0)[:, None]


@triton.jit
def measure(difference, NORM: tl.constexpr):
    """Return the lengths of vectors (X, DIM), (X,)."""
    if NORM == 1:
        return tl.sum(tl.abs(difference), 1)
    else:  # noqa: RET505 - as above
        return tl.sqrt(tl.sum(difference * difference, 1))


@triton.jit
def find_rows(row_entities, base, numbers, inside, PROJECTED: tl.constexpr):
    """Return where rows are read: projected ones under their number, others in the entity table."""
    if PROJECTED:
        return numbers.to(tl.int64)
    else:  # noqa: RET505 - as above
        return tl.load(row_entities + base + numbers, mask=inside, other=0).to(tl.int64)


@triton.jit
def sigmoid(x):
    """Return 1 / (1 + exp(-x)) without overflow."""
    raised = tl.exp(-tl.abs(x))
    return tl.where(x >= 0, 1.0, raised) / (1.0 + raised)


@triton.jit
def log_sigmoid(x):
    """Return log(sigmoid(x)) without overflow."""
    return tl.minimum(x, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(x)))


@triton.jit
def read_copies(
    vectors, row_entities, base, numbers, inside, known, columns,
    dim: tl.constexpr, PROJECTED: tl.constexpr, LENGTH: tl.constexpr,
):  # fmt: skip
    """Return corrupted copies (X, DIM), what they are divided by (X,), and them with the configured length."""
    at = find_rows(row_entities, base, numbers, inside, PROJECTED)
    y = tl.load(vectors + at[:, None] * dim + columns[None, :], mask=inside[:, None] & known, other=0.0)
    divisor = measure_length(y, LENGTH)
    return y, divisor, y / divisor[:, None]


@triton.jit
def compare_copies(limited, wanted, inside, known, marks, places, SHARED: tl.constexpr, NORM: tl.constexpr):
    """Return how copies differ from what is wanted, (X, DIM), and how far, (X,); marked ones lie FAR (SHARED)."""
    z = tl.where(inside[:, None] & known, limited - wanted, 0.0)
    other = measure(z, NORM)
    if SHARED:
        other = tl.where(tl.load(marks + places, mask=inside, other=1) != 0, FAR, other)
    return z, other


@triton.jit
def weigh_push(other, first, mass, margin, temperature, share, n, ADVERSARIAL: tl.constexpr):
    """Return the gradient of a triple's loss by the distances of its corrupted copies.

    `first` is the largest logit (ADVERSARIAL), with `mass` the sum of the powers below it; or the triple's own
    distance.
    """
    if ADVERSARIAL:
        weight = tl.exp(-other * temperature - first) / mass
        return -share * weight * sigmoid(margin - other) / 2
    else:  # noqa: RET505 - as above
        return tl.where(margin + first - other > 0, -share / n, 0.0)


@triton.jit
def contrast(
    counter, relations, replaces_head, sizes, row_entities, vectors, relation_table, gradients,
    relation_gradients, triple_slots, left_out, wanted_table, figures, losses, margin, temperature, batch, rows, n,
    dim: tl.constexpr, SHARED: tl.constexpr, PROJECTED: tl.constexpr, ADVERSARIAL: tl.constexpr, NORM: tl.constexpr,
    LENGTH: tl.constexpr, CHUNK: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Score one triple beside its corrupted copies; write its loss and the gradients of all its rows.

    Where triples share their copies (SHARED), the gradients of those are left to `push_away`.
    """
    step, triple = tl.load(counter), tl.program_id(0)
    relation = tl.load(relations + step * batch + triple)
    if relation >= 0:
        base = step.to(tl.int64) * rows
        one, columns = tl.arange(0, 1), tl.arange(0, DIM)
        known = (columns < dim)[None, :]
        always = one >= 0
        head_at = find_rows(row_entities, base, one + triple, always, PROJECTED)
        tail_at = find_rows(row_entities, base, one + batch + triple, always, PROJECTED)
        head = tl.load(vectors + head_at[:, None] * dim + columns[None, :], mask=known, other=0.0)  # (1, DIM)
        tail = tl.load(vectors + tail_at[:, None] * dim + columns[None, :], mask=known, other=0.0)
        r = tl.load(relation_table + relation.to(tl.int64) * dim + columns[None, :], mask=known, other=0.0)
        head_by, tail_by = measure_length(head, LENGTH), measure_length(tail, LENGTH)
        head_limited, tail_limited = head / head_by[:, None], tail / tail_by[:, None]
        difference = head_limited + r - tail_limited
        d = measure(difference, NORM)  # (1,)
        of_head = tl.load(replaces_head + step * batch + triple) == 1
        wanted = tl.where(of_head, tail_limited - r, head_limited + r)
        owner = triple
        if SHARED:
            owner = tl.load(triple_slots + step * batch + triple)
        marks = left_out + (step.to(tl.int64) * batch + triple) * n

        # First pass: the distances of the corrupted copies, and what the loss needs of them all.
        hinge_sum = tl.zeros((1,), dtype=tl.float32)
        hinge_count = tl.zeros((1,), dtype=tl.float32)
        top = tl.full((1,), -float("inf"), dtype=tl.float32)
        mass = tl.zeros((1,), dtype=tl.float32)
        surprise = tl.zeros((1,), dtype=tl.float32)
        for j in range(0, n, CHUNK):
            places = j + tl.arange(0, CHUNK)
            inside = places < n
            numbers = 2 * batch + owner * n + places
            _, _, y_limited = read_copies(
                vectors, row_entities, base, numbers, inside, known, columns, dim, PROJECTED, LENGTH
            )
            _, other = compare_copies(y_limited, wanted, inside, known, marks, places, SHARED, NORM)
            if ADVERSARIAL:
                logits = tl.where(inside, -other * temperature, -float("inf"))
                higher = tl.maximum(top, tl.max(logits, 0))
                raised = tl.exp(logits - higher)
                shrink = tl.exp(top - higher)
                mass = mass * shrink + tl.sum(raised, 0)
                surprise = surprise * shrink + tl.sum(raised * log_sigmoid(other - margin), 0)
                top = higher
            else:
                short = tl.where(inside, margin + d - other, 0.0)
                hinge_sum += tl.sum(tl.maximum(short, 0.0), 0)
                hinge_count += tl.sum(tl.where(short > 0, 1.0, 0.0), 0)
        share = 1.0 / tl.load(sizes + step).to(tl.float32)
        if ADVERSARIAL:
            loss = -(log_sigmoid(margin - d) + surprise / mass) / 2
            pull = share * sigmoid(d - margin) / 2
        else:
            loss = hinge_sum / n
            pull = share * hinge_count / n
        tl.store(losses + step * batch + triple + one, loss)
        if SHARED:
            tl.store(wanted_table + triple * dim + columns[None, :], wanted, mask=known)
            tl.store(figures + 2 * triple + one, top if ADVERSARIAL else d)
            tl.store(figures + 2 * triple + 1 + one, mass)

        # Second pass: the gradients of the corrupted copies, and of what they are compared with.
        of_wanted = tl.zeros((1, DIM), dtype=tl.float32)
        for j in range(0, n, CHUNK):
            places = j + tl.arange(0, CHUNK)
            inside = places < n
            numbers = 2 * batch + owner * n + places
            y, y_by, y_limited = read_copies(
                vectors, row_entities, base, numbers, inside, known, columns, dim, PROJECTED, LENGTH
            )
            z, other = compare_copies(y_limited, wanted, inside, known, marks, places, SHARED, NORM)
            push = weigh_push(other, top if ADVERSARIAL else d, mass, margin, temperature, share, n, ADVERSARIAL)
            g = tl.where(inside, push, 0.0)[:, None] * point(z, other, NORM)
            of_wanted -= tl.sum(g, 0)[None, :]
            if not SHARED:
                g = pull_back(g, y_limited, y_by, y, LENGTH)
                where = gradients + numbers.to(tl.int64)[:, None] * dim + columns[None, :]
                tl.store(where, g, mask=inside[:, None] & known)

        straight = pull[:, None] * point(difference, d, NORM)
        of_head_vector = straight + tl.where(of_head, 0.0, of_wanted)
        of_tail_vector = tl.where(of_head, of_wanted, 0.0) - straight
        of_relation = straight + tl.where(of_head, -of_wanted, of_wanted)
        of_head_vector = pull_back(of_head_vector, head_limited, head_by, head, LENGTH)
        of_tail_vector = pull_back(of_tail_vector, tail_limited, tail_by, tail, LENGTH)
        here = (one + triple).to(tl.int64)[:, None] * dim + columns[None, :]
        there = (one + batch + triple).to(tl.int64)[:, None] * dim + columns[None, :]
        tl.store(gradients + here, of_head_vector, mask=known)
        tl.store(gradients + there, of_tail_vector, mask=known)
        tl.store(relation_gradients + here, of_relation, mask=known)


@triton.jit
def push_away(
    counter, sizes, slot_relations, slot_offsets, row_entities, left_out, vectors, wanted_table, figures, gradients,
    margin, temperature, batch, slots, rows, n, dim: tl.constexpr,
    PROJECTED: tl.constexpr, ADVERSARIAL: tl.constexpr, NORM: tl.constexpr, LENGTH: tl.constexpr,
    CHUNK: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Sum over the triples of a slot the gradients of some of the corrupted copies that they share."""
    step, slot, part = tl.load(counter), tl.program_id(0), tl.program_id(1)
    if tl.load(slot_relations + step * slots + slot) >= 0:
        base = step.to(tl.int64) * rows
        places, columns = part * CHUNK + tl.arange(0, CHUNK), tl.arange(0, DIM)
        inside, known = places < n, (columns < dim)[None, :]
        numbers = 2 * batch + slot * n + places
        y, y_by, y_limited = read_copies(
            vectors, row_entities, base, numbers, inside, known, columns, dim, PROJECTED, LENGTH
        )
        share = 1.0 / tl.load(sizes + step).to(tl.float32)
        total = tl.zeros((CHUNK, DIM), dtype=tl.float32)
        start = tl.load(slot_offsets + step * (slots + 1) + slot)
        end = tl.load(slot_offsets + step * (slots + 1) + slot + 1)
        for triple in range(start, end):
            wanted = tl.load(wanted_table + triple * dim + columns[None, :], mask=known, other=0.0)
            marks = left_out + (step.to(tl.int64) * batch + triple) * n
            z, other = compare_copies(y_limited, wanted, inside, known, marks, places, True, NORM)
            first, mass = tl.load(figures + 2 * triple), tl.load(figures + 2 * triple + 1)
            push = weigh_push(other, first, mass, margin, temperature, share, n, ADVERSARIAL)
            total += tl.where(inside, push, 0.0)[:, None] * point(z, other, NORM)
        total = pull_back(total, y_limited, y_by, y, LENGTH)
        where = gradients + numbers.to(tl.int64)[:, None] * dim + columns[None, :]
        tl.store(where, total, mask=inside[:, None] & known)
