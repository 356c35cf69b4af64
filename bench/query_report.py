#!/usr/bin/env python3
"""Turns the result lines of bench/query.sh into docs/benchmarks-query.md."""
import datetime
import json
import os
import platform
import statistics
import sys

READS_ALL = {"every item, no index serves"}
INDEX_ALONE = {"count with filter", "100 groups", "substring, counted"}


def goal(line):
    if line in READS_ALL:
        return 1
    return 10 if line in INDEX_ALONE else 2


# What stands in the way where a goal is missed: lines, scopes, and the reason.
OBSTACLES = [
    ({"equality, 10,000 rows"}, {"key"},
     "**Ten rows inside one key.** Half of the server's time is the kernel's, which sends 11 KB and wakes the client, and a quarter an answer's fixed "
     "part; finding the rows' entries in a list in memory, the items in the item cache and copying them is the last quarter."),
    ({"equality, 1 row", "two filters", "count with filter"}, {"container", "key"},
     "**Few rows.** {limit} What is left between that and Orrery: the signature of every request and JSON in and out, one search in the "
     "index, and one look-up of the item; each of the last two is 15 to 25 thousand instructions inside RocksDB as Debian builds it."),
    ({"equality, 100 rows", "equality, 10,000 rows", "range, ordered, 20 rows", "array join"}, {"container"},
     "**Rows that lie apart.** Those that are not in the item cache are one look-up in RocksDB each, 2 to 4 µs; searches for the first entry of a "
     "range are as dear."),
    ({"every item, no index serves"}, {"container"},
     "**Every item.** Half of a scan is RocksDB's iterator, a fifth finds the members that the query names in each item's text; PostgreSQL reads "
     "the same bytes from its own pages."),
    ({"100 groups", "substring, counted", "every item, no index serves", "range, ordered, 20 rows"}, {"key"},
     "**Inside one key** groups and substrings read runs of the key's values in memory, each made at first use by reading the "
     "thousand items of the key, at about 1 µs each, which is part of the figures; what no index serves reads them every time."),
]


def limit_text(measured):
    """What an HTTP server that does nothing reaches with the same client, against PostgreSQL's one-row line."""
    idle = [row["per_second"] for row in measured if row["system"] == "nginx"]
    turns = [row["per_second"] for row in measured
             if row["system"] == "postgresql" and row["line"] == "equality, 1 row" and row["scope"] == "container"]
    if not idle or not turns:
        return ""
    theirs = statistics.median(turns)
    best = max(idle)
    runs = " and ".join(f"{value:,.0f}" for value in idle)
    return (f"nginx, which answers the same requests of the same client with a file of 1.3 KB and looks nothing up, reached {runs} a second "
            f"before and after the lines: {best / theirs:.2f} × PostgreSQL's one row."
            + (" No server that speaks HTTP reaches twice that here." if best < 2 * theirs else ""))


def beside_the_lines(rows, items):
    """What is asked of queries besides the lines: the size of the container must not matter to a first page, nor the text to a query."""
    out = []
    cpu = {system: [row["server_cpu_us"] for row in rows if row.get("system") == system] for system in ("all items", "few items")}
    if all(cpu.values()):
        out.append(f"The first page of an ordered query (range, ordered, 20 rows) takes {statistics.median(cpu['all items']):,.0f} µs of the server's time over "
                   f"{items:,} items and {statistics.median(cpu['few items']):,.0f} µs over {items // 100:,}.")
    compile_us = {row["compile"]: row["us"] for row in rows if "compile" in row}
    if compile_us:
        out.append(f"Parsing, binding and taking the filter apart, before anything is read: {compile_us['new_text']:.1f} µs for a text that was never seen, "
                   f"{compile_us['seen_text']:.1f} µs for one that was (`query_bench`; goal 10 µs).")
    return out


def middle(turns):
    """The median of each figure over the turns of one line."""
    figures = ("rows", "per_second", "rows_per_second", "server_cpu_us", "p99_us")
    return {name: statistics.median(row[name] for row in turns) for name in figures}


def main():
    path, items, seconds, turns, connections, cache_mb = sys.argv[1], int(sys.argv[2]), *sys.argv[3:7]
    rows = [json.loads(line) for line in open(path) if line.startswith("{")]
    measured = [row for row in rows if "line" in row]
    by = {}
    for row in measured:
        by.setdefault((row["system"], row["line"], row["scope"]), []).append(row)
    out = []
    say = out.append
    say("# Query benchmarks\n")
    say(f"Written by `bench/query.sh` on {datetime.date.today()}: {items:,} items of 1 KB, {connections} connections, "
        f"{turns} turns of {seconds} s per line and system, load generator (two threads) beside the server on the same {platform.machine()} machine with "
        f"{os.cpu_count()} cores; both systems loaded before and warmed by 15 s of queries that read all items, {cache_mb} MB for the caches of each. Figures are medians over the turns, the ratio is that of the ratios of each pair of turns, with the lowest and the highest of them. "
        "PostgreSQL 15 with JSONB, a GIN index (jsonb_path_ops), an expression index on every "
        "path that a line filters, sorts or groups by, the same indexes led by the partition key, prepared statements; "
        "Orrery over HTTP with signed requests, default indexing policy with a composite index over partition key and sort key, Debian's RocksDB. Only ratios within one run mean "
        "anything.\n")
    wrong = []
    missed = set()
    for scope, title in (("container", "Whole container"), ("key", "Within one partition key (1,000 items)")):
        say(f"## {title}\n")
        say("| query | rows | Orrery/s | PostgreSQL/s | ratio | goal | Orrery CPU µs | PostgreSQL CPU µs | Orrery rows/s | "
            "PostgreSQL rows/s | p99 ms, both |")
        say("|---|---|---|---|---|---|---|---|---|---|---|")
        for name in dict.fromkeys(row["line"] for row in measured):
            our_turns, their_turns = by.get(("orrery", name, scope)), by.get(("postgresql", name, scope))
            if not our_turns or not their_turns:
                continue
            for mine, other in zip(our_turns, their_turns):
                if mine["check"] != other["check"]:
                    wrong.append(f"{name} ({scope}): {mine['check']} against {other['check']}")
            ours, theirs = middle(our_turns), middle(their_turns)
            ratios = [mine["per_second"] / other["per_second"] if other["per_second"] else 0
                      for mine, other in zip(our_turns, their_turns)]
            ratio = statistics.median(ratios)
            if ratio < goal(name):
                missed.add((name, scope))
            say(f"| {name} | {ours['rows']:,.0f} | {ours['per_second']:,.1f} | {theirs['per_second']:,.1f} | {ratio:.2f} ({min(ratios):.2f}–{max(ratios):.2f}) | "
                f"≥ {goal(name)} | {ours['server_cpu_us']:,.0f} | {theirs['server_cpu_us']:,.0f} | "
                f"{ours['rows_per_second']:,.0f} | {theirs['rows_per_second']:,.0f} | {ours['p99_us'] / 1000:.1f}, "
                f"{theirs['p99_us'] / 1000:.1f} |")
        say("")
    limit = limit_text(measured)
    notes = [text.replace("{limit} ", limit + " " if limit else "")
             for names, scopes, text in OBSTACLES if any(n in names and s in scopes for n, s in missed)]
    if notes:
        say("What stands in the way of the goals that were missed:\n")
        out.extend(f"- {text}" for text in notes)
        say("")
    share = next((row["rocksdb_share"] for row in rows if row.get("rocksdb_share")), None)
    if share is not None:
        say(f"RocksDB's own code took {share:.0f} % of the server's time in a further pass over all lines.\n")
    for text in beside_the_lines(rows, items):
        say(text + "\n")
    errors = [f"{row['system']}, {row['line']}, {row['scope']}: {row['errors']}" for row in measured if row["errors"]]
    if errors:
        say("Errors: " + "; ".join(errors) + "\n")
    say("Answers of both systems agree on every line." if not wrong else
        "**Answers differ:** " + "; ".join(wrong))
    print("\n".join(out))


if __name__ == "__main__":
    main()
