package sdk

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

const emulatorKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

var ctx = context.Background()

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// transport trusts the server's own certificate authority when the suite runs over TLS.
func transport(t testing.TB) *http.Client {
	config := &tls.Config{InsecureSkipVerify: os.Getenv("ORRERY_INSECURE") == "1"}
	if path := os.Getenv("ORRERY_CA"); path != "" {
		pem, err := os.ReadFile(path)
		ok(t, err)
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(pem)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 32}}
}

func newClient(t testing.TB, key string) *azcosmos.Client {
	t.Helper()
	return newClientAt(t, env("ORRERY_ENDPOINT", "http://127.0.0.1:8081"), key)
}

func newClientAt(t testing.TB, endpoint, key string) *azcosmos.Client {
	t.Helper()
	credential, err := azcosmos.NewKeyCredential(key)
	ok(t, err)
	options := &azcosmos.ClientOptions{EnableContentResponseOnWrite: true}
	options.ClientOptions = azcore.ClientOptions{Transport: transport(t)}
	client, err := azcosmos.NewClientWithKey(endpoint, credential, options)
	ok(t, err)
	return client
}

func connect(t testing.TB) *azcosmos.Client { return newClient(t, env("ORRERY_KEY", emulatorKey)) }

func unique(prefix string) string {
	random := make([]byte, 6)
	_, _ = rand.Read(random)
	return prefix + "-" + hex.EncodeToString(random)
}

// newDatabase creates a database that is deleted when the test ends.
func newDatabase(t *testing.T, client *azcosmos.Client, throughput *azcosmos.ThroughputProperties) *azcosmos.DatabaseClient {
	t.Helper()
	id := unique("go")
	_, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, &azcosmos.CreateDatabaseOptions{ThroughputProperties: throughput})
	ok(t, err)
	database, err := client.NewDatabase(id)
	ok(t, err)
	t.Cleanup(func() { _, _ = database.Delete(ctx, nil) })
	return database
}

func keyOf(version int, paths ...string) azcosmos.PartitionKeyDefinition {
	return azcosmos.PartitionKeyDefinition{Paths: paths, Version: version}
}

// addContainer creates a container; `ru` 0 leaves the throughput to the server.
func addContainer(t *testing.T, database *azcosmos.DatabaseClient, properties azcosmos.ContainerProperties, ru int32) *azcosmos.ContainerClient {
	t.Helper()
	if properties.ID == "" {
		properties.ID = unique("c")
	}
	if len(properties.PartitionKeyDefinition.Paths) == 0 {
		properties.PartitionKeyDefinition = keyOf(2, "/pk")
	}
	options := &azcosmos.CreateContainerOptions{}
	if ru > 0 {
		throughput := azcosmos.NewManualThroughputProperties(ru)
		options.ThroughputProperties = &throughput
	}
	_, err := database.CreateContainer(ctx, properties, options)
	ok(t, err)
	container, err := database.NewContainer(properties.ID)
	ok(t, err)
	return container
}

func newContainer(t *testing.T, properties azcosmos.ContainerProperties, ru int32) *azcosmos.ContainerClient {
	t.Helper()
	t.Parallel()
	return addContainer(t, newDatabase(t, connect(t), nil), properties, ru)
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func equal(t testing.TB, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("want %v, got %v", want, got)
	}
}

func check(t testing.TB, condition bool, what string) {
	t.Helper()
	if !condition {
		t.Fatal(what)
	}
}

// status fails the test unless err is the service's answer with this HTTP status; it returns the answer.
func status(t testing.TB, want int, err error) *azcore.ResponseError {
	t.Helper()
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) {
		t.Fatalf("want status %d, got %v", want, err)
	}
	if answer.StatusCode != want {
		t.Fatalf("want status %d, got %d: %v", want, answer.StatusCode, err)
	}
	return answer
}

func pk(value string) azcosmos.PartitionKey { return azcosmos.NewPartitionKeyString(value) }

func doc(t testing.TB, value any) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	ok(t, encoder.Encode(value))
	return bytes.TrimSpace(out.Bytes())
}

type object = map[string]any

// parse keeps numbers as text.
func parse(t testing.TB, text []byte) object {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out object
	if err := decoder.Decode(&out); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return out
}

// userPart returns the item's own text, i.e. what stands before the system properties.
func userPart(t testing.TB, text []byte) string {
	t.Helper()
	at := strings.Index(string(text), `,"_rid":`)
	check(t, at > 0, "no system properties in "+string(text))
	return string(text[:at]) + "}"
}

func create(t testing.TB, c *azcosmos.ContainerClient, key azcosmos.PartitionKey, item any) azcosmos.ItemResponse {
	t.Helper()
	response, err := c.CreateItem(ctx, key, doc(t, item), nil)
	ok(t, err)
	equal(t, http.StatusCreated, response.RawResponse.StatusCode)
	return response
}

func read(t testing.TB, c *azcosmos.ContainerClient, key azcosmos.PartitionKey, id string) object {
	t.Helper()
	response, err := c.ReadItem(ctx, key, id, nil)
	ok(t, err)
	return parse(t, response.Value)
}

func missing(t testing.TB, c *azcosmos.ContainerClient, key azcosmos.PartitionKey, id string) {
	t.Helper()
	_, err := c.ReadItem(ctx, key, id, nil)
	status(t, http.StatusNotFound, err)
}

func sleepUntilExpired() { time.Sleep(3200 * time.Millisecond) }
