"""Training and ranking beside the machine's ceilings."""

from __future__ import annotations

from benchmarks.sections.markdown import Record, describe_setting, make_table


def render_bench(record: Record) -> str:
    """Return the section on one machine."""
    product, copy, config = record["ceilings"]["product"], record["ceilings"]["copy"], record["config"]
    titles = ["ITransF", "measured on", "rate", "kFLOP each", "GFLOP/s", "of the product", "GB/s", "of the copy"]
    rows = [
        [
            f"{found['activity']}, n {found['dim']}, m {found['concepts']}",
            f"{found['counted']:,} {found['unit']}",
            f"{found['rate']:,.0f} {found['unit']}/s",
            f"{found['cost']['flops'] / 1e3:,.1f}",
            f"{found['flops'] / 1e9:,.2f}",
            f"{found['of_product']:.1%}",
            f"{found['bytes'] / 1e9:,.2f}",
            f"{found['of_copy']:.1%}",
        ]
        for found in record["measures"]
    ]
    text = (
        f"Ceilings on {config['device']}: {product['flops'] / 1e9:,.1f} GFLOP/s in a float32 matrix product, "
        f"{copy['bytes'] / 1e9:,.1f} GB/s in a copy, reading and writing counted. "
        f"{' '.join(record['counted'].values())}"
    )
    setting = "\n".join(describe_setting(record))
    title = f"## Beside the machine's ceilings: {config['data']} on {config['device']}"
    return f"{title}\n\n{setting}\n\n{text}\n\n{make_table(titles, rows)}"
