"""orrery serve, check, healthcheck, version: options from three places, start, stop, folders that are not as they should be."""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

import support
from support import PATIENCE, PROGRAM, Server


def bare(**more):
    return {"PATH": os.environ["PATH"], **more}


def refused(*arguments, env=None, cwd=None, code=None):
    """A start that must fail: what it says."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE, env=env or bare(), cwd=cwd)
    assert done.returncode not in (0, -6, -11), (done.returncode, done.stdout, done.stderr)
    if code is not None:
        assert done.returncode == code, (done.returncode, done.stderr)
    return done.stderr


class Started:
    """A server with an environment and a working folder of the test's choice."""

    def __init__(self, *arguments, env=None, cwd=None):
        self.process = subprocess.Popen([PROGRAM, "serve", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=bare(**(env or {})), cwd=cwd)
        self.text = ""
        while not re.search(r"  try  |fully ready", self.text):
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError("the server did not start: " + self.text)
            self.text += line
        self.port = int(re.search(r"http://[^ /]+:(\d+)/", self.text).group(1))
        # Nobody may find the pipe full.
        self.drain = threading.Thread(target=self.process.stdout.read, daemon=True)
        self.drain.start()

    def get(self, path):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE)

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)
        self.drain.join(PATIENCE)
        self.process.stdout.close()


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="orrery-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def free_port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]


class Options(Folder):
    def test_flag_over_variable_over_file(self):
        ports = [self.free_port() for _ in range(3)]
        config = self.write("orrery.conf", f"# options\nport = {ports[0]}\nmemory\n")
        with Started("--config", config) as server:
            self.assertEqual(server.port, ports[0])
            self.assertIn("in memory", server.text)
        with Started(env={"ORRERY_CONFIG": config, "ORRERY_PORT": str(ports[1])}) as server:
            self.assertEqual(server.port, ports[1])
        with Started("--config", config, "--port", str(ports[2]), env={"ORRERY_PORT": str(ports[1])}) as server:
            self.assertEqual(server.port, ports[2])

    def test_where_data_lies_is_one_choice(self):
        config = self.write("orrery.conf", "data = from-file\nport = 0\ndurability = relaxed")
        with Started("--config", config, cwd=self.folder) as server:
            self.assertRegex(server.text, r"data +from-file +\(relaxed")
        with Started("--config", config, "--memory", cwd=self.folder) as server:
            self.assertIn("in memory", server.text)
        self.assertIn("--memory", refused("serve", "--memory", "--data", "x"))
        # The command line wins over variables in this, too; a flag that is off chooses nothing.
        with Started("--memory", "--port", "0", env={"ORRERY_DATA": "from-variable"}, cwd=self.folder) as server:
            self.assertIn("in memory", server.text)
        with Started("--data", "from-flag", "--port=0", env={"ORRERY_MEMORY": "1"}, cwd=self.folder) as server:
            self.assertRegex(server.text, r"data +from-flag")
        with Started("--port", "0", env={"ORRERY_MEMORY": "false", "ORRERY_DATA": "from-variable"}, cwd=self.folder) as server:
            self.assertRegex(server.text, r"data +from-variable")
        with Started("--config", config, env={"ORRERY_MEMORY": "false"}, cwd=self.folder) as server:
            self.assertRegex(server.text, r"data +from-file")
        both = self.write("both.conf", "data = x\nmemory\n")
        for env in ({"ORRERY_MEMORY": "1", "ORRERY_DATA": "x"}, {"ORRERY_CONFIG": both}):
            self.assertIn("--memory", refused("serve", "--port", "0", env=bare(**env), code=2))

    def test_what_is_wrong_in_a_file_is_refused(self):
        for text, message in [("prot = 1", "orrery.conf:1: 'prot' is not an option"), ("port = 1\n[serve]\n", "orrery.conf:2:"),
                              ("port = 99999", "--port"), ("durability = often", "--durability"), ("config = other", "orrery.conf:1: 'config'"),
                              ("port = 1\nport = 2", "--port")]:
            with self.subTest(text):
                self.assertIn(message, refused("serve", "--config", self.write("orrery.conf", text)))
        self.assertIn("/nonexistent", refused("serve", "--config", "/nonexistent"))

    def test_every_option_is_a_variable_and_a_line(self):
        """Each option of the help is taken, or refused by its value, from all three places."""
        text = support.run("serve", "--help", env=bare()).stdout
        names = re.findall(r"^  --([a-z-]+)", text, re.M)
        self.assertIn("port", names)
        for name in names:
            variable = "ORRERY_" + name.upper().replace("-", "_")
            with self.subTest(name):
                self.assertIn(variable, text)
        numbers = [n for n in names if re.search(rf"^  --{n} (U?INT)", text, re.M)]
        self.assertGreaterEqual(len(numbers), 6)
        for name in numbers:
            with self.subTest(name):
                for arguments, env in [((f"--{name}", "x"), {}), ((), {"ORRERY_" + name.upper().replace("-", "_"): "x"}),
                                       (("--config", self.write("c.conf", f"{name} = x")), {})]:
                    self.assertIn(name, refused("serve", "--memory", *arguments, env=bare(**env)))

    def test_a_command_that_nobody_knows_is_named(self):
        for arguments, problem in (([], "a command is missing. There are: serve,"), (["frob"], "no command 'frob'. There are: serve,"),
                                   (["lab"], "a command is missing. There are: report"), (["lab", "frob"], "no command 'lab frob'"),
                                   (["import"], "source is required"), (["lab", "report", "--fail-on", "x"], "--fail-on")):
            done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE)
            self.assertIn(problem, done.stderr, arguments)
            self.assertIn("--help", done.stderr, arguments)
            self.assertEqual(done.returncode, 2, arguments)

    def test_misspelt_variables_are_named(self):
        with Started("--memory", "--port", "0", env={"ORRERY_PROT": "1"}) as server:
            self.assertIn("ORRERY_PROT", server.text)
        # Those of the client commands are known.
        clients = {"ORRERY_ENDPOINT": "http://127.0.0.1:1", "ORRERY_CA": "x", "ORRERY_CONNECTION_STRING": "x"}
        with Started("--memory", "--port", "0", env=clients) as server:
            self.assertNotIn("has no effect", server.text)

    def test_bad_values(self):
        self.assertIn("65535", refused("serve", "--memory", "--port", "65536"))
        self.assertIn("base64", refused("serve", "--memory", "--port", "0", "--key", "!!"))
        self.assertIn("--key", refused("serve", "--memory", "--port", "0", "--bind", "0.0.0.0"))
        self.assertIn("--prot", refused("serve", "--prot", "1"))
        with Server() as server:
            self.assertIn(str(server.port), refused("serve", "--memory", "--port", str(server.port)))


class Life(Folder):
    def test_ready_lines_probes_and_stop(self):
        with Started("--memory", "--port", "0", "--container-log") as server:
            lines = server.text.splitlines()
            wanted = ["Started", f"Now listening on: http://127.0.0.1:{server.port}/", "System is now fully ready to accept requests"]
            self.assertEqual([line for line in lines if line in wanted], wanted)
            for path in ("/alive", "/ready", "/status", "/_explorer/index.html", "/_explorer/emulator.pem"):
                with server.get(path) as answer:
                    self.assertEqual(answer.status, 200, path)
            support.run("healthcheck", "--port", str(server.port), env=bare())
            self.assertEqual(server.stop(), 0)
            self.assertIn(str(server.port), refused("healthcheck", "--port", str(server.port)))
        self.assertRegex(support.run("version", env=bare()).stdout, r"^orrery \d+\.\d+\.\d+\n$")

    def test_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:
            self.skipTest("this machine has no IPv6")
        with Started("--memory", "--port", "0", "--bind", "::1") as server:
            endpoint = f"http://[::1]:{server.port}/"
            self.assertIn(f"ready at {endpoint} ", server.text)
            self.assertIn(f"AccountEndpoint={endpoint};", server.text)
            with urllib.request.urlopen(f"{endpoint}ready", timeout=PATIENCE) as answer:
                self.assertEqual(answer.status, 200)
            support.run("healthcheck", "--address", "::1", "--port", str(server.port), env=bare())
            support.run("shell", "--endpoint", endpoint, "-e", ".databases", env=bare(HOME="/nonexistent"))
            self.assertIn("no answer", refused("healthcheck", "--address", "localhost", "--port", str(server.port)).lower())
        self.assertIn("not an IPv4 or IPv6 address", refused("healthcheck", "--address", "nowhere"))

    def test_a_stop_finishes_what_was_begun(self):
        """Writes that were answered before SIGTERM took effect are there afterwards, with idle connections open."""
        with Started("--port", "0", "--data", "data", "--unthrottled", cwd=self.folder) as server:
            idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
            endpoint = f"http://127.0.0.1:{server.port}"
            done = subprocess.Popen([PROGRAM, "bench", "create", "--endpoint", endpoint, "--container", "d/c", "--keep", "--seconds", "120"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=bare(HOME="/nonexistent"))
            end = time.monotonic() + PATIENCE
            while "d/c" not in support.run("shell", "-e", ".containers", env=bare(ORRERY_ENDPOINT=endpoint)).stdout:
                self.assertLess(time.monotonic(), end)
            self.assertEqual(server.stop(), 0)
            done.wait(PATIENCE)
            for connection in idle:
                connection.close()
        support.run("check", "--data", str(self.folder / "data"), env=bare())

    def test_a_stop_does_not_wait_for_scripts_that_nothing_can_end(self):
        """One was given up, one is still within its time: both are left where they are, and what was written is on disk."""
        with Server("--data", "data", "--unthrottled") as server:
            key = {"x-ms-documentdb-partitionkey": '["a"]'}
            server.rest("POST", "dbs", {"id": "d"})
            server.rest("POST", "dbs/d/colls", {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}})
            server.rest("POST", "dbs/d/colls/c/sprocs", {"id": "good", "body": "function () { __.response.setBody(1); }"})
            server.rest("POST", "dbs/d/colls/c/sprocs", {"id": "stuck", "body": """function () {
                __.createDocument(__.getSelfLink(), {id: 'never', pk: 'a'});
                BigInt('7'.repeat(300000));  // half a minute at least
            }"""})
            outcomes = []

            def run():
                try:
                    outcomes.append(server.rest("POST", "dbs/d/colls/c/sprocs/stuck", [], key))
                except (OSError, http.client.HTTPException) as error:
                    outcomes.append(getattr(error, "code", None))

            run()
            self.assertEqual(outcomes, [408])
            self.assertEqual(server.rest("POST", "dbs/d/colls/c/sprocs/good", [], key), 1)
            for n in range(200):
                server.rest("POST", "dbs/d/colls/c/docs", {"id": f"i{n}", "pk": "a"}, key)
            later = threading.Thread(target=run)
            later.start()
            time.sleep(0.5)
            began = time.monotonic()
            server.stop()
            took = time.monotonic() - began
            later.join(PATIENCE)
            log = server.log.read_text()
            self.assertEqual(server.process.returncode, 0, log)
            self.assertRegex(log, r"stopped while [12] script\(s\) could not be ended")
            self.assertIn(outcomes[1], (None, 408, 503))
            print(f"SIGTERM with stuck scripts to exit: {took * 1000:.0f} ms")
            data = str(pathlib.Path(server.folder.name) / "data")
            support.run("check", "--data", data, env=bare())
            with Server("--data", data) as again:
                support.run("healthcheck", "--port", str(again.port), env=bare())
                count = support.run("shell", "d/c", "-q", "-f", "jsonl", "-e", "SELECT VALUE COUNT(1) FROM c",
                                    env=bare(ORRERY_ENDPOINT=again.endpoint)).stdout
                self.assertEqual(count, "200\n")

    def test_a_second_server_on_the_folder(self):
        with Started("--port", "0", "--data", "data", cwd=self.folder) as server:
            said = refused("serve", "--port", "0", "--data", "data", cwd=self.folder)
            self.assertRegex(said, r"data.*(another|in use|running)")
            self.assertRegex(refused("check", "--data", "data", cwd=self.folder), "another|in use|running")
            with server.get("/ready") as answer:
                self.assertEqual(answer.status, 200)

    def test_the_authority_is_made_once(self):
        seen = set()
        for _ in range(2):
            with Started("--port", "0", "--data", "data", cwd=self.folder) as server:
                with server.get("/_explorer/emulator.pem") as answer:
                    pem = answer.read().decode()
                seen.add(pem)
                for host in ("localhost", "127.0.0.1"):
                    context = ssl.create_default_context(cadata=pem)
                    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as plain, \
                            context.wrap_socket(plain, server_hostname=host) as secure:
                        self.assertIn(secure.version(), ("TLSv1.2", "TLSv1.3"))
                server.stop()
        self.assertEqual(len(seen), 1)
        self.assertEqual((self.folder / "data/tls").stat().st_mode & 0o077, 0)

    def test_an_init_file_is_applied_once(self):
        seed = {"databases": [{"id": "shop", "containers": [
            {"id": "orders", "partitionKey": {"paths": ["/customer"]}, "throughput": 400, "items": [{"id": "1", "customer": "ann", "total": 12.5}]}]}]}
        init = self.write("seed.json", json.dumps(seed))
        total = "SELECT VALUE c.total FROM c"
        with Started("--port", "0", "--data", "data", "--init", init, cwd=self.folder) as server:
            env = bare(ORRERY_ENDPOINT=f"http://127.0.0.1:{server.port}")
            self.assertEqual(support.run("shell", "shop/orders", "-q", "-f", "jsonl", "-e", total, env=env).stdout, "12.5\n")
            changed = self.write("a.jsonl", json.dumps({"id": "1", "customer": "ann", "total": 99}))
            support.run("import", changed, "shop/orders", "--mode", "upsert", env=env)
            server.stop()
        with Started("--port", "0", "--data", "data", "--init", init, cwd=self.folder) as server:
            env = bare(ORRERY_ENDPOINT=f"http://127.0.0.1:{server.port}")
            self.assertEqual(support.run("shell", "shop/orders", "-q", "-f", "jsonl", "-e", total, env=env).stdout, "99\n")
        for text, message in [("{", "seed.json"), ('{"databases":[{"id":5}]}', "id"), ('{"databases":[{"id":"d","containers":[{"id":"c"}]}]}', "c"),
                              ('{"database":[]}', "database")]:
            with self.subTest(text):
                self.assertIn(message, refused("serve", "--memory", "--port", "0", "--init", self.write("seed.json", text)))


class Folders(Folder):
    """Data folders that are damaged, foreign or of the future: an answer in words, never a crash, never a silent skip."""

    def seeded(self, count=4000):
        with Started("--port", "0", "--data", "data", "--unthrottled", cwd=self.folder) as server:
            items = self.write("a.jsonl", "".join(json.dumps({"id": str(i), "pk": f"k{i % 7}", "text": f"{i} " * 100}) + "\n" for i in range(count)))
            support.run("import", items, "d/c", "--create", "--partition-key", "/pk", env=bare(ORRERY_ENDPOINT=f"http://127.0.0.1:{server.port}"))
            self.assertEqual(server.stop(), 0)
        return self.folder / "data"

    def test_no_folder_and_no_store(self):
        self.assertIn("nonexistent", refused("check", "--data", str(self.folder / "nonexistent")))
        self.write("file", "x")
        self.assertIn("file", refused("serve", "--port", "0", "--data", str(self.folder / "file")))

    def test_a_damaged_table_is_found(self):
        data = self.seeded()
        tables = sorted((p for p in data.rglob("*.sst")), key=lambda p: p.stat().st_size)
        self.assertTrue(tables)
        body = bytearray(tables[-1].read_bytes())
        for at in range(200, min(len(body), 4000), 97):
            body[at] ^= 0xFF
        tables[-1].write_bytes(body)
        done = subprocess.run([PROGRAM, "check", "--data", str(data)], capture_output=True, text=True, timeout=PATIENCE, env=bare())
        self.assertIn(done.returncode, (1, 2))
        self.assertRegex(done.stdout + done.stderr, r"(?i)checksum|corrupt|damage")

    def test_a_missing_table_is_found(self):
        data = self.seeded()
        table = max(data.rglob("*.sst"), key=lambda p: p.stat().st_size)
        table.unlink()
        self.assertIn(table.stem, refused("serve", "--port", "0", "--data", str(data)))
        self.assertTrue(refused("check", "--data", str(data)))

    def test_a_damaged_manifest_is_found(self):
        data = self.seeded(50)
        manifest = next(data.rglob("MANIFEST-*"))
        manifest.write_bytes(b"x" * manifest.stat().st_size)
        self.assertRegex(refused("serve", "--port", "0", "--data", str(data)), r"(?i)corrupt|damage|checksum|cannot")

    def test_a_copy_of_the_folder_is_a_database(self):
        data = self.seeded(50)
        shutil.copytree(data, self.folder / "copy")
        with Started("--port", "0", "--data", "copy", cwd=self.folder) as server:
            env = bare(ORRERY_ENDPOINT=f"http://127.0.0.1:{server.port}")
            self.assertEqual(support.run("shell", "d/c", "-q", "-f", "jsonl", "-e", "SELECT VALUE COUNT(1) FROM c", env=env).stdout, "50\n")
