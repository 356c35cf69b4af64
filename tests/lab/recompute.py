#!/usr/bin/env python3
"""Recomputes the Design Lab's numbers without the Lab.

Starts a server, makes requests whose charges, sizes and keys this script notes down itself, asks for the
report with its observations, and compares: what was observed with what was done here; what every finding
says it saves with the formulas of docs/request-units.md, written down here a second time; prices with prices.

    tests/lab/recompute.py [SERVER]          default: build/orrery
    tests/lab/recompute.py --report FILE     only the second half, on a saved report (observations=true)
"""
import base64
import hashlib
import hmac
import http.client
import json
import math
import pathlib
import subprocess
import sys
import time
import urllib.parse
from email.utils import formatdate

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
MONTH = 730 * 3600
VISIT = 2.79

problems = []


def check(what, found, expected, tolerance=1e-6):
    near = abs(found - expected) <= tolerance * max(1, abs(expected))
    if not near:
        problems.append(f"{what}: the report says {found}, recomputed {expected}")
    return near


# --- charges and prices, from docs/request-units.md and docs/lab-rules.md --------------------------------------------------

KB = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]
READ = [21, 22, 24, 28, 35, 46, 100, 209, 426, 860, 3064, 6128]
WRITE4 = [26, 33, 35, 37, 50, 59, 119, 253, 516, 969]
WRITE = [4 * w for w in WRITE4] + [13125, 26250]


def between(table, size, step=1):
    size = max(1024, int(size))
    for i in range(1, len(KB)):
        if size <= KB[i] * 1024:
            x0, x1 = KB[i - 1] * 1024, KB[i] * 1024
            y0, y1 = table[i - 1] // step, table[i] // step
            return step * (y0 + -(-(size - x0) * (y1 - y0) // (x1 - x0)))
    return table[-1]


def read_ru(size):
    return between(READ, size) / 21


def write_ru(size, terms=0):
    return (between(WRITE, size, 4 if size <= 512 * 1024 else 1) + 4 * terms) / 21


def worth(observation, ru):
    mode = observation.get("throughput", {}).get("mode", "manual")
    if mode == "serverless":
        return ru / 4
    hour = 160 if observation["multiRegionWrites"] else 120 if mode == "autoscale" else 80
    return ru / 3600 * hour * observation["regions"]


def manual_month(ru, regions, multi):
    return ru * 730 * regions * (160 if multi else 80)


def autoscale_month(top, peaks, regions, multi):
    hours = sum(min(max(p, top // 10), top) for p in peaks)
    return hours * regions * (160 if multi else 120) * 730 // len(peaks)


# --- what each finding must save ------------------------------------------------------------------------

def per_month(o, ru):
    return max(0.0, ru) * MONTH / o["observedSeconds"]


def operations(o, names, succeeded=True):
    return sum(x["requests"] - (x["failed"] if succeeded else 0) for x in o["operations"] if x["operation"] in names)


def writes(o):
    return operations(o, ("create", "replace", "upsert", "patch", "delete"))


def query_of(o, finding):
    for q in o["queries"]:
        if "'" + q["text"] + "'" in finding["summary"]:
            return q
    return None


def facts(finding):
    return {f["name"]: f["value"] for f in finding["evidence"]}


def expected_saving(o, finding):
    """RU a month, or None when the rule saves no RU."""
    rule, fact = finding["rule"], facts(finding)
    q = query_of(o, finding)
    if rule == 2:
        sums = [sum(m["ru"] for m in r["minutes"]) for r in o["ranges"]]
        return (max(sums) / (sum(sums) / len(sums)) - 1) * sum(r["provisionedRu"] for r in o["ranges"]) * MONTH
    if rule == 4:
        n = max(1, len(o["ranges"]))
        return (n - 1) / n * sum(r["provisionedRu"] for r in o["ranges"]) * MONTH
    if rule == 8:
        return per_month(o, (q["ranges"] / q["pages"] - 1) * VISIT * q["pages"])
    if rule == 9:
        size = q["outputBytes"] / q["output"] if q["output"] else 1024
        return per_month(o, q["ru"] - read_ru(size) * q["runs"])
    if rule == 10:
        return per_month(o, fact["ru"] - read_ru(o["itemUse"]["meanBytes"]) * fact["runs"])
    if rule == 11:
        path = next(p for p in o["paths"] if p.get("array") and p["path"] in finding["summary"])
        element = o["itemUse"]["meanBytes"] * path["array"]["sizeShare"] / path["array"]["p50"]
        return per_month(o, (2 * write_ru(o["itemUse"]["meanBytes"]) - write_ru(element)) * operations(o, ("replace", "upsert", "patch")))
    if rule == 12:
        hot = max(200.0, fact["bytes"] * fact["changedShare"])
        return per_month(o, 2 * (write_ru(fact["bytes"]) - write_ru(hot)) * fact["writesPerDay"] * o["observedSeconds"] / 86400)
    if rule == 14:
        return per_month(o, fact["reads"] * (read_ru(fact["itemBytes"]) - read_ru(fact["restBytes"]))
                         + fact["writes"] * (write_ru(fact["itemBytes"]) - write_ru(fact["restBytes"])))
    if rule == 15:
        unused = [p for p in o["paths"] if p["indexed"] and p["terms"] > 0 and p["path"] != "/id" and not p["filterRuns"]
                  and not p["orderRuns"] and p["path"] not in o["keyPaths"]]
        return per_month(o, 4 / 21 * sum(p["terms"] for p in unused) * writes(o))
    if rule in (16, 18):
        return per_month(o, q["ru"] - 2.9 * q["runs"])
    if rule == 17:
        return per_month(o, q["ru"] * (1 - q["output"] / q["retrieved"]) if q["retrieved"] > q["output"] else 0)
    if rule == 19:
        return per_month(o, VISIT * (o["bursts"]["queries"] - o["bursts"]["bursts"]))
    if rule == 20:
        return per_month(o, fact["followingReadsRu"] - fact["secondWrites"] * 2 * write_ru(1024))
    if rule == 21:
        return per_month(o, fact["fanOutRu"] - fact["extraWriteRu"])
    if rule == 22:
        return per_month(o, 0.03 * (fact["outputBytes"] - fact["neededBytes"]) / 1024)
    if rule == 23:
        return per_month(o, (1 - fact["used"] / fact["read"]) * fact["feedRu"])
    if rule == 24:
        return per_month(o, VISIT * (fact["pages"] - fact["runs"]))
    if rule == 25:
        return per_month(o, sum(x["ru"] for x in o["operations"] if x["operation"] in ("read", "query", "readFeed", "changeFeed")) / 2)
    if rule == 29:
        autoscale = o["throughput"]["mode"] == "autoscale"
        return max(0, o["neighbours"]["sharedContainers"] - 25) * (1000 if autoscale else 100) * MONTH
    if rule == 30:
        return 0 if o["neighbours"]["sharedThroughput"] else (len(o["neighbours"]["sameKey"]) - 1) * o["neighbours"]["minimumRu"] * MONTH
    if rule == 31:
        pages = sum(x["pages"] for x in o["queries"] if x["keyedRuns"] < x["runs"])
        return per_month(o, (len(o["ranges"]) - 1) * VISIT * pages)
    if rule == 33:
        ru = fact["provisionedRuPerSecond"]
        return (ru / 10 if o.get("throughput", {}).get("mode") == "autoscale" else ru) * MONTH
    if rule == 35:
        return per_month(o, 26 / 21 * fact["conflicts"])
    return None


def expected_money(o, finding, ru):
    rule = finding["rule"]
    multi, regions = o["multiRegionWrites"], o["regions"]
    peaks = [math.ceil(h["peakRu"]) for h in o["hours"]]
    if rule == 26:
        return None if "costNow" not in facts(finding) else round((facts(finding)["costNow"] - facts(finding)["costThen"]) * 1e6)
    if rule == 28:
        top = o["throughput"]["ru"]
        return autoscale_month(top, [min(p, top) for p in peaks], regions, multi) - manual_month(top, regions, multi)
    if rule == 34:
        return o["bytes"] // 1024 * 9 // 10 * 250_000 // (1 << 20) * regions
    return worth(o, ru) if ru is not None else 0


def recompute_report(report):
    count = 0
    for container in report["containers"]:
        o = container["observation"]
        for finding in container["findings"]:
            count += 1
            name = f"{container['container']}, rule {finding['rule']}"
            saving = finding["saving"]
            ru = expected_saving(o, finding)
            check(f"{name}: RU a month", saving["ruPerMonth"], round(ru) if ru is not None else 0, 1e-6)
            money = expected_money(o, finding, ru)
            if money is not None:
                check(f"{name}: money a month", saving["microDollarsPerMonth"], round(money), 1e-6)
        judged = [f["rule"] for f in container["findings"]] + container["quiet"] + [n["rule"] for n in container["noEvidence"]]
        if sorted(set(judged)) != list(range(1, 38)):
            problems.append(f"{container['container']}: not every rule is accounted for")
    return count


# --- the other half: what was done, noted down here ----------------------------------------------------

class Server:
    def __init__(self, binary):
        self.process = subprocess.Popen([binary, "serve", "--memory", "--port", "0"], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(line.split("http://")[1].split("/")[0].split(":")[1])
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port)

    def send(self, method, path, kind, link, body=None, headers=None):
        date = formatdate(usegmt=True)
        text = f"{method.lower()}\n{kind}\n{link}\n{date.lower()}\n\n"
        signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
        token = urllib.parse.quote(f"type=master&ver=1.0&sig={signature}", safe="")
        sent = {"x-ms-date": date, "authorization": token, "x-ms-version": "2018-12-31", "content-type": "application/json"}
        sent.update(headers or {})
        self.connection.request(method, path, json.dumps(body) if body is not None else None, sent)
        answer = self.connection.getresponse()
        data = answer.read()
        assert answer.status < 300, (method, path, answer.status, data[:300])
        return (json.loads(data) if data else None), float(answer.getheader("x-ms-request-charge") or 0), len(data)

    def own(self, path):
        return self.send("GET", "/_orrery/" + path, "_orrery", path.split("?")[0])[0]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def all_rules(server):
    """A report on the observations that trigger each rule (tests/lab/rules.json)."""
    cases = json.loads((ROOT / "tests" / "lab" / "rules.json").read_text())
    observations = [dict(c["triggers"], container=f"case {c['rule']} {c['name']}") for c in cases]
    report, _, _ = server.send("POST", "/_orrery/lab/judge?observations=true", "_orrery", "lab/judge", observations)
    for case, container in zip(cases, report["containers"]):
        if case["rule"] not in [f["rule"] for f in container["findings"]]:
            problems.append(f"rule {case['rule']} is silent on {case['name']}")
    return report


def done_and_seen(server):
    server.send("POST", "/dbs", "dbs", "", {"id": "d"})
    server.send("POST", "/dbs/d/colls", "colls", "dbs/d",
                {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}, {"x-ms-offer-throughput": "12000"})
    docs, link = "/dbs/d/colls/c/docs", "dbs/d/colls/c"
    noted = {"create": [0, 0.0], "read": [0, 0.0], "query": [0, 0.0]}
    sizes, shapes = [], {}

    def note(kind, charge):
        noted[kind][0] += 1
        noted[kind][1] += charge

    for i in range(300):
        item = {"id": f"i{i}", "pk": f"k{i % 60}", "n": i, "group": i % 5, "name": f"Name {i}", "tags": ["a", "b"], "note": "x" * (i % 400)}
        sizes.append(len(json.dumps(item, separators=(",", ":"))))
        _, charge, _ = server.send("POST", docs, "docs", link, item, {"x-ms-documentdb-partitionkey": json.dumps([item["pk"]])})
        note("create", charge)
    for i in range(100):
        _, charge, _ = server.send("GET", f"{docs}/i{i}", "docs", f"{link}/docs/i{i}", None,
                                   {"x-ms-documentdb-partitionkey": json.dumps([f"k{i % 60}"])})
        note("read", charge)

    def query(text, times, key=None):
        for i in range(times):
            headers = {"x-ms-documentdb-isquery": "true", "content-type": "application/query+json"}
            if key:
                headers["x-ms-documentdb-partitionkey"] = json.dumps([key(i)])
            answer, charge, size = server.send("POST", docs, "docs", link, {"query": text(i)}, headers)
            note("query", charge)
            shape = shapes.setdefault(text(10**6).replace("1000000", "?"), [0, 0.0, 0, 0])
            shape[0] += 1
            shape[1] += charge
            shape[2] += answer["_count"]
            shape[3] += size

    query(lambda i: f"SELECT * FROM c WHERE c.n = {i}", 150)
    query(lambda i: f"SELECT * FROM c WHERE c.id = 'i{i}' AND c.pk = 'k{i % 60}'" if i < 10**6 else "SELECT * FROM c WHERE c.id = ? AND c.pk = ?", 80)
    query(lambda i: f"SELECT * FROM c WHERE LOWER(c.name) = 'name {i}'" if i < 10**6 else "SELECT * FROM c WHERE LOWER(c.name) = ?", 40)
    time.sleep(1.2)
    report = server.own("containers/d/c/lab/report?observations=true")
    o = report["containers"][0]["observation"]
    for one in o["operations"]:
        if one["operation"] in noted:
            check(f"requests of {one['operation']}", one["requests"], noted[one["operation"]][0])
            # Headers round to two decimals.
            check(f"RU of {one['operation']}", one["ru"], noted[one["operation"]][1], 0.005)
    check("items", o["items"], 300)
    check("bytes", o["bytes"], sum(sizes))
    check("different keys", o["storageKeys"]["distinct"], 60)
    check("largest key", o["storageKeys"]["largest"][0]["bytes"], max(sum(sizes[i] for i in range(300) if i % 60 == k) for k in range(60)))
    if len(o["queries"]) != 3:
        problems.append(f"three shapes of queries were sent, {len(o['queries'])} were seen")
    for q in o["queries"]:
        if q["text"] not in shapes:
            problems.append(f"a query that was not sent was seen: {q['text']}")
            continue
        runs, charge, rows, size = shapes[q["text"]]
        check(f"runs of {q['text']}", q["runs"], runs)
        check(f"RU of {q['text']}", q["ru"], charge, 0.005)
        check(f"rows of {q['text']}", q["output"], rows)
        check(f"bytes of {q['text']}", q["outputBytes"], size)
    found = {f["rule"] for f in report["containers"][0]["findings"]}
    for rule in (8, 9, 18):
        if rule not in found:
            problems.append(f"rule {rule} should have spoken")
    costs = server.own("containers/d/c/lab/cost")["costs"]
    peaks = [math.ceil(h["peakRu"]) for h in o["hours"]]
    peak = max(peaks)
    manual = max(400, -(-peak // 100) * 100)
    by_name = {x["name"]: x for x in costs["options"]}
    check("manual price", by_name["manual"]["throughputMicroDollars"], manual_month(manual, 1, False))
    check("reserved price", by_name["reserved1y"]["throughputMicroDollars"], manual * 730 * 80 * 800 // 1000)
    top = max(1000, -(-peak // 1000) * 1000)
    check("autoscale price", by_name["autoscale"]["throughputMicroDollars"], autoscale_month(top, peaks, 1, False))
    return report


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--report":
        findings = recompute_report(json.loads(pathlib.Path(sys.argv[2]).read_text()))
    else:
        server = Server(sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "orrery"))
        try:
            findings = recompute_report(done_and_seen(server)) + recompute_report(all_rules(server))
        finally:
            server.stop()
    for problem in problems:
        print(problem)
    print(f"lab: {findings} findings recomputed, {len(problems)} problems")
    return 1 if problems or findings == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
