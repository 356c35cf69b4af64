"""orrery lab report: formats, the exit code, and what was recorded before a restart."""
import json
import re
import subprocess

import support
from support import Case, Server, run


def traffic(server, name, count=130):
    """Writes, and a query over all partitions that a report must complain about."""
    database, container = name.split("/")
    docs = f"dbs/{database}/colls/{container}/docs"
    for i in range(20):
        server.rest("POST", docs, {"id": str(i), "pk": f"k{i}", "city": f"town {i % 4}"}, {"x-ms-documentdb-partitionkey": json.dumps([f"k{i}"])})
    for i in range(count):
        server.rest("POST", docs, {"query": f"SELECT * FROM c WHERE c.city = 'town {i % 4}'"},
                    {"x-ms-documentdb-isquery": "true", "content-type": "application/query+json"})


def report(name, *more, server=None, expect=0):
    arguments = ["lab", "report", name, "--format", "json", *more]
    if server is not None:
        arguments += ["--endpoint", server.endpoint]
    return json.loads(run(*arguments, expect=expect).stdout)


def rules(found):
    return {f["rule"] for c in found["containers"] for f in c["findings"]}


class Reports(Case):
    throughput = 20000

    def test_a_fan_out_query_fails_the_build(self):
        quiet = run("lab", "report", self.container, "--fail-on", "medium", "--thresholds", '{"fanOutRunsPerHour":10}')
        self.assertNotIn("### 8.", quiet.stdout)
        traffic(support.SERVER, self.container)
        found = report(self.container, "--fail-on", "none")
        self.assertIn(8, rules(found))
        worst = found["worst"]
        order = ["info", "low", "medium", "high", "critical"]
        for limit in order:
            done = run("lab", "report", self.container, "--fail-on", limit, expect=None)
            self.assertEqual(done.returncode, 1 if order.index(limit) <= order.index(worst) else 0, limit)
            if done.returncode == 1:
                self.assertRegex(done.stderr, rf"\d+ findings? of severity {limit} or above")
        self.assertEqual(run("lab", "report", self.container, "--fail-on", "none").returncode, 0)

    def test_formats_and_files(self):
        traffic(support.SERVER, self.container)
        text = run("lab", "report", self.container, "--format", "md", "--fail-on", "none").stdout
        self.assertRegex(text, r"### 8\. ")
        self.assertIn("SELECT * FROM c WHERE c.city = ?", text)
        page = self.folder / "design.html"
        done = run("lab", "report", self.container, "--format", "html", "--output", str(page), "--fail-on", "none")
        self.assertEqual(done.stdout, "")
        html = page.read_text()
        self.assertTrue(html.lower().startswith("<!doctype html>"))
        self.assertIn("Fan-out query", html)
        self.assertIsNone(re.search(r"(src|href)=[\"']?https?:", html), "the page stands alone")
        # What a report observed is judged again without a server, with the same outcome.
        saved = self.write("saved.json", run("lab", "report", self.container, "--format", "json", "--observations", "--fail-on", "none").stdout)
        again = json.loads(run("lab", "report", "--file", saved, "--format", "json", "--fail-on", "none", env=support.environment(ORRERY_ENDPOINT="http://127.0.0.1:1")).stdout)
        self.assertEqual(rules(again), rules(report(self.container, "--fail-on", "none")))
        self.assertEqual(run("lab", "report", "--file", saved, "--fail-on", "medium", expect=None).returncode, 1)

    def test_what_cannot_be_reported(self):
        self.assertIn("no container", run("lab", "report", "no/where", expect=2).stderr.lower())
        self.assertIn("--fail-on", run("lab", "report", "--fail-on", "bad", expect=None).stderr)
        self.assertIn("unusedIndexDay", run("lab", "report", self.container, "--thresholds", '{"unusedIndexDay":1}', expect=2).stderr)
        self.assertIn("Cannot read", run("lab", "report", "--file", "/nonexistent", expect=2).stderr)


    def test_what_a_tool_does_for_itself_is_not_judged(self):
        docs = f"dbs/{self.container.replace('/', '/colls/')}/docs"
        asked = {"x-ms-documentdb-isquery": "true", "content-type": "application/query+json"}
        for _ in range(30):
            support.SERVER.rest("POST", docs, {"query": "SELECT * FROM c WHERE c.town = 'x'"}, {**asked, "x-orrery-housekeeping": "true"})
        found = report(self.container, "--observations", "--fail-on", "none")
        observation = found["containers"][0]["observation"]
        self.assertEqual(rules(found) & {8}, set())
        self.assertEqual(observation["queries"], [])
        self.assertEqual([o for o in observation["operations"] if o["operation"] == "query"], [])
        # It was paid for all the same.
        self.assertGreater(sum(m["ru"] for r in observation["ranges"] for m in r["minutes"]), 30)


class OverARestart(Case):
    def start(self):
        return Server("--data", str(self.folder / "data"))

    def test_what_was_recorded_is_still_there(self):
        with self.start() as server:
            server.container("d/c", throughput=20000)
            traffic(server, "d/c")
            before = report("d/c", "--observations", "--fail-on", "none", server=server)
        file = self.folder / "data/lab/recording"
        self.assertTrue(file.exists())
        self.assertEqual(file.stat().st_mode & 0o077, 0)
        done = subprocess.run([support.PROGRAM, "check", "--data", str(self.folder / "data")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with self.start() as server:
            after = report("d/c", "--observations", "--fail-on", "none", server=server)
            self.assertEqual(rules(after), rules(before))
            def seen(found, what):
                return found["containers"][0]["observation"][what]
            self.assertEqual(seen(after, "operations"), seen(before, "operations"))
            self.assertEqual(seen(after, "queries"), seen(before, "queries"))
            self.assertEqual(seen(after, "paths"), seen(before, "paths"))
            # It is counted on.
            server.rest("POST", "dbs/d/colls/c/docs", {"query": "SELECT * FROM c WHERE c.city = 'x'"},
                        {"x-ms-documentdb-isquery": "true", "content-type": "application/query+json"})
            more = report("d/c", "--observations", "--fail-on", "none", server=server)
            self.assertEqual(seen(more, "queries")[0]["runs"], seen(before, "queries")[0]["runs"] + 1)

    def test_a_damaged_recording_is_a_line_in_the_log(self):
        with self.start() as server:
            server.container("d/c")
            traffic(server, "d/c", 5)
        file = self.folder / "data/lab/recording"
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 0x55
        file.write_bytes(data)
        with self.start() as server:
            found = report("d/c", "--observations", "--fail-on", "none", server=server)
            self.assertEqual(found["containers"][0]["observation"]["queries"], [])
            self.assertIn("The Design Lab begins anew", server.log.read_text())
            self.assertIn("checksum", server.log.read_text())
        # Nothing was recorded: the damaged file may stay, and does not stop a start.
        with self.start() as server:
            self.assertEqual(server.rest("GET", "dbs/d/colls/c")["id"], "c")

    def test_a_container_of_the_same_name_begins_anew(self):
        with self.start() as server:
            server.container("d/c")
            traffic(server, "d/c", 5)
            server.rest("DELETE", "dbs/d/colls/c")
            server.container("d/c")
        with self.start() as server:
            self.assertEqual(report("d/c", "--observations", "--fail-on", "none", server=server)["containers"][0]["observation"]["queries"], [])
