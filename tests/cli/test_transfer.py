"""orrery import and export."""
import csv
import json
import os
import signal
import subprocess
import time

import support
from support import Case, Server, Terminal, query, run


def sorted_items(items):
    return sorted(items, key=lambda item: item["id"])


class Formats(Case):
    def test_jsonl_there_and_back(self):
        items = self.items(500, text="é\n\"x\"", nested={"a": [1, 2.5, None]})
        done = run("import", self.jsonl("a.jsonl", items), self.container)
        self.assertIn("Imported 500 items", done.stderr)
        self.assertEqual(done.stdout, "")
        run("export", self.container, str(self.folder / "b.jsonl"))
        back = [json.loads(line) for line in (self.folder / "b.jsonl").read_text().splitlines()]
        self.assertEqual(sorted_items(back), sorted_items(items))

    def test_json_array_there_and_back(self):
        items = self.items(50)
        run("import", self.write("a.json", json.dumps(items, indent=2)), self.container)
        run("export", self.container, str(self.folder / "b.json"))
        self.assertEqual(sorted_items(json.loads((self.folder / "b.json").read_text())), sorted_items(items))

    def test_empty_exports(self):
        run("export", self.container, str(self.folder / "b.json"))
        self.assertEqual(json.loads((self.folder / "b.json").read_text()), [])

    def test_csv_there_and_back(self):
        items = [{"id": "1", "pk": "a", "n": 1.5, "s": "7", "t": "a,b\n\"c\"", "o": {"x": {"y": True}}, "l": [1, {"z": None}], "e": ""},
                 {"id": "2", "pk": "b", "w": None, "o": {"x": {"v": "é"}}}]
        run("import", self.jsonl("a.jsonl", items), self.container)
        run("export", self.container, str(self.folder / "b.csv"))
        with open(self.folder / "b.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({row["id"] for row in rows}, {"1", "2"})
        self.assertIn("o.x.y", rows[0])
        self.assertFalse((self.folder / "b.csv.part.jsonl").exists())
        support.SERVER.container(self.container + "2")
        run("import", str(self.folder / "b.csv"), self.container + "2")
        run("export", self.container + "2", str(self.folder / "c.jsonl"))
        back = [json.loads(line) for line in (self.folder / "c.jsonl").read_text().splitlines()]
        self.assertEqual(sorted_items(back), items)

    def test_csv_options(self):
        text = "id;pk;zip;n;yes\n1;a;01234;5;1\n2;b;7;;0\n"
        run("import", self.write("a.csv", text), self.container, "--delimiter", ";", "--column", "zip:text", "--column", "yes:boolean", "--empty", "null")
        self.assertEqual(query(self.container, "SELECT c.id, c.zip, c.n, c.yes FROM c ORDER BY c.id"),
                         [{"id": "1", "zip": "01234", "n": 5, "yes": True}, {"id": "2", "zip": "7", "n": None, "yes": False}])

    def test_mongo_dump(self):
        text = ('{"_id":{"$oid":"507f1f77bcf86cd799439011"},"pk":"a","at":{"$date":{"$numberLong":"1582977600123"}},"big":{"$numberLong":"12345678901"}}\n'
                '{"_id":{"$numberInt":"7"},"pk":"a","at":{"$date":"2020-02-29T12:00:00Z"},"d":{"$numberDecimal":"1.5"}}\n')
        path = self.write("users.jsonl", text)
        refused = run("import", path, self.container, expect=1)
        self.assertIn("--format mongo", refused.stderr)
        run("import", path, self.container, "--format", "mongo", "--restart")
        self.assertEqual(query(self.container, "SELECT c.id, c.at, c.big, c.d FROM c ORDER BY c.id"),
                         [{"id": "507f1f77bcf86cd799439011", "at": "2020-02-29T12:00:00.123Z", "big": 12345678901},
                          {"id": "7", "at": "2020-02-29T12:00:00Z", "d": 1.5}])

    def test_standard_input_and_output(self):
        items = self.items(20)
        run("import", "-", self.container, "--format", "jsonl", stdin="".join(json.dumps(i) + "\n" for i in items))
        done = run("export", self.container, "-")
        self.assertEqual(sorted_items([json.loads(line) for line in done.stdout.splitlines()]), sorted_items(items))

    def test_export_of_a_query_with_system_properties(self):
        run("import", self.jsonl("a.jsonl", self.items(20)), self.container)
        done = run("export", self.container, "-", "--query", "SELECT * FROM c WHERE c.n < 3", "--system")
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(sorted(row["n"] for row in rows), [0, 1, 2])
        self.assertIn("_etag", rows[0])


class Modes(Case):
    def test_upsert_create_skip(self):
        first = self.jsonl("a.jsonl", self.items(3, v=1))
        second = self.jsonl("b.jsonl", self.items(4, v=2))
        run("import", first, self.container, "--mode", "create")
        refused = run("import", second, self.container, "--mode", "create", "--parallel", "1", expect=1)
        self.assertIn("is there already", refused.stderr)
        self.assertIn("Line 1", refused.stderr)
        skipped = run("import", second, self.container, "--mode", "skip", "--restart")
        self.assertIn("3 were there already", skipped.stderr)
        self.assertEqual(query(self.container, "SELECT VALUE c.v FROM c ORDER BY c.id"), [1, 1, 1, 2])
        run("import", second, self.container)
        self.assertEqual(query(self.container, "SELECT VALUE c.v FROM c ORDER BY c.id"), [2, 2, 2, 2])

    def test_rejects_go_aside(self):
        path = self.write("a.jsonl", '{"id":"1","pk":"a"}\nnot json\n{"pk":"a"}\n{"id":"a/b","pk":"a"}\n{"id":"2","pk":"a"}\n')
        stopped = run("import", path, self.container, expect=1)
        self.assertRegex(stopped.stderr, r"[^.]\. To go on without such items, give them a file: --rejects FILE")
        done = run("import", path, self.container, "--rejects", str(self.folder / "bad.jsonl"), "--restart", expect=1)
        self.assertIn("3 refused", done.stderr)
        bad = [json.loads(line) for line in (self.folder / "bad.jsonl").read_text().splitlines()]
        self.assertEqual(sorted(entry["line"] for entry in bad), [2, 3, 4])
        self.assertEqual(self.count(), 2)

    def test_creates_what_is_missing(self):
        name = f"fresh-{os.getpid()}/people"
        missing = run("import", self.jsonl("a.jsonl", self.items(2)), name, expect=1)
        self.assertIn("--create --partition-key", missing.stderr)
        # Options may stand before what they are not about.
        run("import", "--create", "--partition-key", "/pk", "--throughput", "1000", str(self.folder / "a.jsonl"), name)
        self.assertEqual(query(name, "SELECT VALUE COUNT(1) FROM c"), [2])

    def test_options_that_mean_nothing_here_are_refused(self):
        path = self.jsonl("a.jsonl", self.items(2))
        self.assertIn("--flat is for tables", run("import", path, self.container, "--flat", expect=1).stderr)
        self.assertIn("--create", run("import", path, self.container, "--throughput", "1000", expect=None).stderr)
        self.assertIn("--delimiter is for", run("export", self.container, "-", "--delimiter", ";", expect=1).stderr)
        other = run("import", path, self.container, "--create", "--partition-key", "/other", expect=1)
        self.assertIn("another partition key", other.stderr)
        run("import", path, self.container, "--create", "--partition-key", "/pk")

    def test_hierarchical_keys(self):
        name = f"fresh-{os.getpid()}/tenants"
        items = [{"id": "1", "tenant": "é", "user": 5}, {"id": "2", "tenant": "a"}]
        run("import", self.jsonl("a.jsonl", items), name, "--create", "--partition-key", "/tenant,/user")
        read = run("shell", name, "-q", "-e", '.read 1 ["é",5]')
        self.assertEqual(json.loads(read.stdout)["tenant"], "é")

    def test_broken_files_name_the_line(self):
        broken = run("import", self.write("a.json", '[{"id":"1","pk":"a"},\n{"id":"2"'), self.container, expect=1)
        self.assertIn("Line 2", broken.stderr)
        unknown = run("import", self.write("a.data", "{}"), self.container, expect=1)
        self.assertIn("--format", unknown.stderr)
        self.assertIn("cannot be read", run("import", "/nowhere.json", self.container, expect=1).stderr)


class Throttled(Case):
    throughput = 400

    def test_429_is_waited_for(self):
        items = self.items(150, text="x" * 2000)
        done = run("import", self.jsonl("a.jsonl", items), self.container, "--parallel", "16")
        self.assertRegex(done.stderr, r"\d+ answers 429, waited for")
        self.assertEqual(self.count(), 150)

    def test_patience_ends(self):
        path = self.jsonl("a.jsonl", self.items(400, text="x" * 8000))
        done = run("import", path, self.container, "--parallel", "16", "--patience", "0", expect=1)
        self.assertIn("429", done.stderr)
        self.assertIn("--resume", done.stderr)


class Resumed(Case):
    throughput = 400

    def import_until(self, done_items, *arguments):
        """Interrupts an import that is throttled, once its checkpoint says so many items."""
        process = subprocess.Popen([support.PROGRAM, "import", *arguments], env=support.environment(), stderr=subprocess.PIPE, text=True)
        checkpoint = arguments[0] + ".orrery-import"
        end = time.monotonic() + support.PATIENCE
        while time.monotonic() < end:
            try:
                with open(checkpoint) as file:
                    if int(json.load(file)["items"]) >= done_items:
                        break
            except (FileNotFoundError, ValueError):
                pass
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=support.PATIENCE)
        return process.returncode, errors

    def resumed(self, mode, name, text):
        path = self.write(name, text)
        code, errors = self.import_until(20, path, self.container, "--mode", mode, "--parallel", "4")
        self.assertEqual(code, 130, errors)
        self.assertIn("--resume", errors)
        before = self.count()
        self.assertGreaterEqual(before, 20)
        self.assertLess(before, 300)
        refused = run("import", path, self.container, "--mode", mode, expect=1)
        self.assertIn("--resume", refused.stderr)
        self.assertIn("--restart", refused.stderr)
        done = run("import", path, self.container, "--mode", mode, "--resume")
        written = int(done.stderr.split("Imported ")[1].split(" ")[0].replace(",", ""))
        self.assertLess(written, 300, "what is done is not done again")
        self.assertEqual(self.count(), 300)
        self.assertFalse(os.path.exists(path + ".orrery-import"))

    def test_upserts(self):
        self.resumed("upsert", "a.jsonl", "".join(json.dumps(i) + "\n" for i in self.items(300, text="x" * 3000)))

    def test_creates_in_an_array(self):
        self.resumed("create", "a.json", json.dumps(self.items(300, text="x" * 3000)))

    def test_csv(self):
        self.resumed("upsert", "a.csv", "id,pk,text\n" + "".join(f'{i},k{i % 7},"{"x" * 3000}"\n' for i in range(300)))

    def test_a_changed_file_is_not_resumed(self):
        path = self.jsonl("a.jsonl", self.items(300, text="x" * 3000))
        self.import_until(5, path, self.container, "--parallel", "2")
        with open(path, "a") as file:
            file.write('{"id":"more","pk":"a"}\n')
        self.assertIn("has changed", run("import", path, self.container, "--resume", expect=1).stderr)


class Exported(Case):
    throughput = 20000  # several physical partitions

    def fill(self, count):
        run("import", self.jsonl("a.jsonl", self.items(count, text="x" * 200)), self.container)

    def test_one_connection_gives_the_same_file(self):
        self.fill(2000)
        for name in ("x.jsonl", "y.jsonl"):
            run("export", self.container, str(self.folder / name), "--parallel", "1")
        self.assertEqual((self.folder / "x.jsonl").read_bytes(), (self.folder / "y.jsonl").read_bytes())
        run("export", self.container, str(self.folder / "z.jsonl"), "--parallel", "4")
        self.assertEqual(sorted((self.folder / "x.jsonl").read_text().splitlines()), sorted((self.folder / "z.jsonl").read_text().splitlines()))

    def test_a_partition_that_splits_meanwhile(self):
        """The first page is read from the range; then it is split, and the rest follows all the same."""
        name = f"{type(self).__name__}/split-meanwhile"
        support.SERVER.container(name, throughput=6000)
        ids = [item["id"] for item in self.items(4000)]
        run("import", self.jsonl("s.jsonl", self.items(4000, text="x" * 900)), name, "--parallel", "32")
        before = support.SERVER.ranges(name)
        self.assertEqual(len(before), 1)
        support.SERVER.set_throughput(name, 400)  # pages are seconds apart now
        target = self.folder / "s-out.jsonl"
        process = subprocess.Popen([support.PROGRAM, "export", name, str(target)], env=support.environment(), stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + support.PATIENCE
        while not (target.exists() and target.stat().st_size > 0) and time.monotonic() < end:
            time.sleep(0.01)
        support.SERVER.own("POST", name, "split", {"rangeId": before[0]})
        while support.SERVER.ranges(name) == before and time.monotonic() < end:
            time.sleep(0.05)
        _, errors = process.communicate(timeout=support.PATIENCE * 2)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(sorted(json.loads(line)["id"] for line in target.read_text().splitlines()), sorted(ids))
        self.assertEqual(len(support.SERVER.ranges(name)), 2)

    def test_an_existing_file_is_kept(self):
        path = self.write("x.jsonl", "precious")
        self.assertIn("--restart", run("export", self.container, path, expect=1).stderr)
        self.assertEqual((self.folder / "x.jsonl").read_text(), "precious")
        run("export", self.container, path, "--restart")
        self.assertEqual((self.folder / "x.jsonl").read_text(), "")


class ExportResumed(Case):
    throughput = 10000

    def interrupted(self, name):
        """An export that was stopped after its first page, then resumed; the ids it gave."""
        items = self.items(3000, text="x" * 900)
        run("import", self.jsonl("a.jsonl", items), self.container, "--parallel", "16")
        target = str(self.folder / name)
        process = subprocess.Popen([support.PROGRAM, "export", self.container, target], env=support.environment(), stderr=subprocess.PIPE, text=True)
        growing = target + (".part.jsonl" if name.endswith("csv") else "")
        end = time.monotonic() + support.PATIENCE
        while time.monotonic() < end and process.poll() is None:
            if os.path.exists(growing) and os.path.getsize(growing) > 0:
                break
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=support.PATIENCE)
        if process.returncode != 0:  # else it was faster than the signal
            self.assertEqual(process.returncode, 130, errors)
            self.assertIn("--resume", run("export", self.container, target, expect=1).stderr)
            run("export", self.container, target, "--resume")
        return target, sorted(item["id"] for item in items)

    def test_jsonl(self):
        target, ids = self.interrupted("b.jsonl")
        with open(target) as file:
            self.assertEqual(sorted(json.loads(line)["id"] for line in file), ids)

    def test_json(self):
        target, ids = self.interrupted("b.json")
        with open(target) as file:
            self.assertEqual(sorted(item["id"] for item in json.load(file)), ids)

    def test_csv(self):
        target, ids = self.interrupted("b.csv")
        with open(target, newline="") as file:
            self.assertEqual(sorted(row["id"] for row in csv.DictReader(file)), ids)

    def test_an_earlier_place_in_the_checkpoint(self):
        """The same from a checkpoint made by hand: nothing is lost, nothing is there twice."""
        items = self.items(2500, text="x" * 300)
        run("import", self.jsonl("a.jsonl", items), self.container, "--parallel", "16")
        whole = run("export", self.container, "-", "--parallel", "1").stdout
        info = support.SERVER.rest("GET", "dbs/" + self.container.replace("/", "/colls/") + "/pkranges")["PartitionKeyRanges"]
        checkpoint = {"format": "orrery-export-1", "endpoint": support.SERVER.endpoint + "/", "container": self.container, "query": "", "items": "0",
                      "bytes": "0", "columns": "[]", "parts": str(len(info))}
        for i, part in enumerate(info):
            checkpoint.update({f"part{i}.id": part["id"], f"part{i}.min": part["minInclusive"], f"part{i}.max": part["maxExclusive"],
                               f"part{i}.continuation": "", f"part{i}.done": "no"})
        self.write("c.jsonl.orrery-export", json.dumps(checkpoint))
        run("export", self.container, str(self.folder / "c.jsonl"), "--resume", "--parallel", "1")
        self.assertEqual((self.folder / "c.jsonl").read_text(), whole)


class OnATerminal(Case):
    def test_progress_and_silence(self):
        path = self.jsonl("a.jsonl", self.items(3000, text="x" * 500))
        with Terminal("import", path, self.container) as terminal:
            terminal.expect(r"a\.jsonl  \[[#.]{24}\] +\d+ %  [\d,]+ items  [\d,]+/s")
            terminal.expect("Imported 3,000 items")
            self.assertEqual(terminal.wait(), 0)
        quiet = run("import", path, self.container)
        self.assertNotIn("\r", quiet.stderr)
        self.assertNotIn("\x1b", quiet.stderr)


class Tls(Case):
    def test_the_authority_of_a_data_folder(self):
        with Server("--data", "data") as server:
            data = os.path.join(server.folder.name, "data")
            env = {**support.environment(), "ORRERY_ENDPOINT": f"https://localhost:{server.port}"}
            path = self.jsonl("a.jsonl", self.items(3))
            refused = run("import", path, "t/c", "--create", "--partition-key", "/pk", expect=1, env=env)
            self.assertIn("not trusted", refused.stderr)
            self.assertIn("--ca", refused.stderr)
            run("import", path, "t/c", "--create", "--partition-key", "/pk", "--ca", data, env=env)
            run("import", path, "t/c", "--insecure", env=env)
            done = run("export", "t/c", "-", "--ca", data + "/tls/ca.pem", env=env)
            self.assertEqual(len(done.stdout.splitlines()), 3)

    def test_a_server_that_comes_back_is_waited_for(self):
        with Server("--data", "data") as server:
            path = self.jsonl("a.jsonl", self.items(3))
            env = {**support.environment(), "ORRERY_ENDPOINT": server.endpoint}
            run("import", path, "t/c", "--create", "--partition-key", "/pk", env=env)
            server.stop()
            gone = run("export", "t/c", "-", env=env, expect=1)
            self.assertIn("orrery serve", gone.stderr)
