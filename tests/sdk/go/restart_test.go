package sdk

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// Continuation tokens outlive the server: B98. The test runs a server of its own (ORRERY_BIN) over a data folder.

type ownServer struct {
	binary, folder, port string
	process              *exec.Cmd
	ended                chan struct{}
}

func newServer(t *testing.T) *ownServer {
	t.Helper()
	binary := os.Getenv("ORRERY_BIN")
	if binary == "" {
		t.Skip("ORRERY_BIN is not set: it runs a server of its own")
	}
	server := &ownServer{binary: binary, folder: t.TempDir(), port: "0"}
	t.Cleanup(func() { // before the folder is removed
		if server.ended != nil {
			_ = server.process.Process.Kill()
			<-server.ended
		}
	})
	return server
}

var readyAt = regexp.MustCompile(`https?://[^\s"/]+:(\d+)[^\d]`)

// start runs the server, on the port that it had before, and returns a new client of it.
func (s *ownServer) start(t *testing.T) *azcosmos.Client {
	t.Helper()
	path := filepath.Join(s.folder, "log")
	log, err := os.Create(path)
	ok(t, err)
	defer log.Close()
	process := exec.Command(s.binary, "serve", "--data", filepath.Join(s.folder, "data"), "--port", s.port, "--unthrottled")
	ended := make(chan struct{})
	process.Stdout, process.Stderr = log, log
	ok(t, process.Start())
	s.process, s.ended = process, ended
	go func() {
		_ = process.Wait()
		close(ended)
	}()
	for tries := 0; ; tries++ {
		text, err := os.ReadFile(path)
		ok(t, err)
		check(t, tries < 600, "the server did not become ready: "+string(text))
		if found := readyAt.FindSubmatch(text); found != nil {
			endpoint := "http://127.0.0.1:" + string(found[1])
			if answer, err := http.Get(endpoint + "/ready"); err == nil {
				_ = answer.Body.Close()
				if answer.StatusCode == http.StatusOK {
					s.port = string(found[1])
					return newClientAt(t, endpoint, env("ORRERY_KEY", emulatorKey))
				}
			}
		}
		select {
		case <-ended:
			text, _ = os.ReadFile(path)
			t.Fatalf("the server ended: %s", text)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// stop ends the server; after SIGTERM its exit code must be 0.
func (s *ownServer) stop(t *testing.T, signal syscall.Signal) {
	t.Helper()
	ok(t, s.process.Process.Signal(signal))
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		t.Fatalf("the server did not end after %v", signal)
	}
	state := s.process.ProcessState.Sys().(syscall.WaitStatus)
	if signal == syscall.SIGKILL {
		check(t, state.Signaled() && state.Signal() == signal, "the server was to be killed: "+s.process.ProcessState.String())
	} else {
		equal(t, 0, state.ExitStatus())
	}
}

// No shape is left out: the SDK sends every query whole and hands the server's tokens on as they are. All but the average
// have more than four pages, so that they are resumed after each restart.
func Test_B98_tokens_outlive_restarts(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	client := server.start(t)
	_, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "restart"}, nil)
	ok(t, err)
	database, err := client.NewDatabase("restart")
	ok(t, err)
	properties := byTieAndN()
	properties.ID = "c"
	container := addContainer(t, database, properties, 18000)
	items := samples(90)
	addSamples(t, container, items)

	cases := shapes(items)
	rows, tokens, done := make([][]string, len(cases)), make([]*string, len(cases)), make([]bool, len(cases))
	for round, open := 0, len(cases); open > 0; round++ {
		check(t, round < 100, "the pages must come to an end")
		for at, shape := range cases {
			if done[at] {
				continue
			}
			var more []string
			more, tokens[at] = nextPage(t, pagerOf(container, shape.query, 7, tokens[at]), 7)
			rows[at] = append(rows[at], more...)
			if done[at] = tokens[at] == nil; done[at] {
				open--
			}
		}
		if round < 4 {
			server.stop(t, []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[round%2])
			container, err = server.start(t).NewContainer("restart", "c")
			ok(t, err)
		}
	}
	for at, shape := range cases {
		shape.check(t, rows[at], "over restarts")
	}
}
