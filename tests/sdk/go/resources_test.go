package sdk

import (
	"encoding/base64"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func Test_B01_connect(t *testing.T) {
	t.Parallel()
	client := connect(t)
	equal(t, env("ORRERY_ENDPOINT", "http://127.0.0.1:8081"), client.Endpoint())
	pager := client.NewQueryDatabasesPager("SELECT * FROM root", nil)
	_, err := pager.NextPage(ctx)
	ok(t, err)
	text := "AccountEndpoint=" + client.Endpoint() + "/;AccountKey=" + env("ORRERY_KEY", emulatorKey) + ";"
	options := &azcosmos.ClientOptions{}
	options.Transport = transport(t)
	byString, err := azcosmos.NewClientFromConnectionString(text, options)
	ok(t, err)
	_, err = byString.NewQueryDatabasesPager("SELECT * FROM root", nil).NextPage(ctx)
	ok(t, err)
}

func Test_B02_wrong_key(t *testing.T) {
	t.Parallel()
	stranger := newClient(t, base64.StdEncoding.EncodeToString(make([]byte, 64)))
	_, err := stranger.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: unique("go")}, nil)
	status(t, http.StatusUnauthorized, err)
}

func Test_B03_read_only_key(t *testing.T) {
	key := os.Getenv("ORRERY_READONLY_KEY")
	if key == "" {
		t.Skip("ORRERY_READONLY_KEY is not set")
	}
	t.Parallel()
	database := newDatabase(t, connect(t), nil)
	container := addContainer(t, database, azcosmos.ContainerProperties{}, 0)
	create(t, container, pk("a"), object{"id": "1", "pk": "a"})
	reader, err := newClient(t, key).NewContainer(database.ID(), container.ID())
	ok(t, err)
	equal(t, "1", read(t, reader, pk("a"), "1")["id"])
	_, err = reader.CreateItem(ctx, pk("a"), []byte(`{"id":"2","pk":"a"}`), nil)
	status(t, http.StatusForbidden, err)
	_, err = reader.DeleteItem(ctx, pk("a"), "1", nil)
	status(t, http.StatusForbidden, err)
}

func Test_B04_database(t *testing.T) {
	t.Parallel()
	client := connect(t)
	id := unique("go")
	created, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, nil)
	ok(t, err)
	equal(t, http.StatusCreated, created.RawResponse.StatusCode)
	equal(t, "dbs/"+created.DatabaseProperties.ResourceID+"/", created.DatabaseProperties.SelfLink)
	_, err = client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, nil)
	status(t, http.StatusConflict, err)
	database, err := client.NewDatabase(id)
	ok(t, err)
	got, err := database.Read(ctx, nil)
	ok(t, err)
	equal(t, created.DatabaseProperties.ResourceID, got.DatabaseProperties.ResourceID)
	pager := client.NewQueryDatabasesPager("SELECT * FROM root r WHERE r.id = @id", &azcosmos.QueryDatabasesOptions{
		QueryParameters: []azcosmos.QueryParameter{{Name: "@id", Value: id}}})
	found := []string{}
	for pager.More() {
		page, err := pager.NextPage(ctx)
		ok(t, err)
		for _, d := range page.Databases {
			found = append(found, d.ID)
		}
	}
	equal(t, []string{id}, found)
	_, err = database.Delete(ctx, nil)
	ok(t, err)
	_, err = database.Read(ctx, nil)
	status(t, http.StatusNotFound, err)
	_, err = database.Delete(ctx, nil)
	status(t, http.StatusNotFound, err)
}

func Test_B06_container_defaults(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, connect(t), nil)
	properties := azcosmos.ContainerProperties{ID: "c", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}}}
	created, err := database.CreateContainer(ctx, properties, nil)
	ok(t, err)
	got := created.ContainerProperties
	equal(t, []string{"/pk"}, got.PartitionKeyDefinition.Paths)
	equal(t, azcosmos.PartitionKeyKind("Hash"), got.PartitionKeyDefinition.Kind)
	equal(t, true, got.IndexingPolicy.Automatic)
	equal(t, "consistent", strings.ToLower(string(got.IndexingPolicy.IndexingMode)))
	equal(t, []azcosmos.IncludedPath{{Path: "/*"}}, got.IndexingPolicy.IncludedPaths)
	equal(t, []azcosmos.ExcludedPath{{Path: `/"_etag"/?`}}, got.IndexingPolicy.ExcludedPaths)
	check(t, got.DefaultTimeToLive == nil, "no TTL by default")
	check(t, strings.HasSuffix(got.SelfLink, "colls/"+got.ResourceID+"/"), got.SelfLink)
	check(t, got.ETag != nil && *got.ETag != "", "etag")
	_, err = database.CreateContainer(ctx, properties, nil)
	status(t, http.StatusConflict, err)
}

func Test_B07_container_policies(t *testing.T) {
	ttl := int32(3600)
	properties := azcosmos.ContainerProperties{
		PartitionKeyDefinition: keyOf(2, "/tenant"),
		DefaultTimeToLive:      &ttl,
		IndexingPolicy: &azcosmos.IndexingPolicy{
			Automatic:     true,
			IndexingMode:  azcosmos.IndexingModeConsistent,
			IncludedPaths: []azcosmos.IncludedPath{{Path: "/name/?"}, {Path: "/tags/[]/?"}, {Path: "/deep/*"}},
			ExcludedPaths: []azcosmos.ExcludedPath{{Path: "/*"}, {Path: `/"_etag"/?`}},
		},
		UniqueKeyPolicy: &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/email"}}, {Paths: []string{"/a/b", "/c"}}}},
		ConflictResolutionPolicy: &azcosmos.ConflictResolutionPolicy{
			Mode: azcosmos.ConflictResolutionModeLastWriteWins, ResolutionPath: "/_ts"},
	}
	container := newContainer(t, properties, 0)
	response, err := container.Read(ctx, nil)
	ok(t, err)
	got := response.ContainerProperties
	equal(t, ttl, *got.DefaultTimeToLive)
	equal(t, 2, got.PartitionKeyDefinition.Version)
	equal(t, properties.IndexingPolicy.IncludedPaths, got.IndexingPolicy.IncludedPaths)
	equal(t, properties.IndexingPolicy.ExcludedPaths, got.IndexingPolicy.ExcludedPaths)
	equal(t, properties.UniqueKeyPolicy, got.UniqueKeyPolicy)
	equal(t, "/_ts", got.ConflictResolutionPolicy.ResolutionPath)
}

func Test_B08_container_replace(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	before, err := container.Read(ctx, nil)
	ok(t, err)
	changed := *before.ContainerProperties
	ttl := int32(60)
	changed.DefaultTimeToLive = &ttl
	changed.IndexingPolicy.ExcludedPaths = append([]azcosmos.ExcludedPath{{Path: "/big/*"}}, changed.IndexingPolicy.ExcludedPaths...)
	_, err = container.Replace(ctx, changed, nil)
	ok(t, err)
	after, err := container.Read(ctx, nil)
	ok(t, err)
	equal(t, ttl, *after.ContainerProperties.DefaultTimeToLive)
	equal(t, "/big/*", after.ContainerProperties.IndexingPolicy.ExcludedPaths[0].Path)
	check(t, *after.ContainerProperties.ETag != *before.ContainerProperties.ETag, "the etag changes")
	bad := changed
	bad.PartitionKeyDefinition = keyOf(2, "/other")
	_, err = container.Replace(ctx, bad, nil)
	status(t, http.StatusBadRequest, err)
	zero := int32(0)
	bad = changed
	bad.DefaultTimeToLive = &zero
	_, err = container.Replace(ctx, bad, nil)
	status(t, http.StatusBadRequest, err)
	changed.DefaultTimeToLive = nil
	_, err = container.Replace(ctx, changed, nil)
	ok(t, err)
	last, err := container.Read(ctx, nil)
	ok(t, err)
	check(t, last.ContainerProperties.DefaultTimeToLive == nil, "TTL is off again")
	_, err = container.Delete(ctx, nil)
	ok(t, err)
	_, err = container.Read(ctx, nil)
	status(t, http.StatusNotFound, err)
}

func Test_B09_missing_container(t *testing.T) {
	t.Parallel()
	client := connect(t)
	database := newDatabase(t, client, nil)
	nope, err := database.NewContainer("nope")
	ok(t, err)
	_, err = nope.Read(ctx, nil)
	status(t, http.StatusNotFound, err)
	_, err = nope.CreateItem(ctx, pk("a"), []byte(`{"id":"1","pk":"a"}`), nil)
	answer := status(t, http.StatusNotFound, err)
	equal(t, "1003", answer.RawResponse.Header.Get("x-ms-substatus"))
	ghost, err := client.NewDatabase(unique("nope"))
	ok(t, err)
	_, err = ghost.CreateContainer(ctx, azcosmos.ContainerProperties{ID: "c", PartitionKeyDefinition: keyOf(2, "/pk")}, nil)
	status(t, http.StatusNotFound, err)
}

func Test_B10_query_containers(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, connect(t), nil)
	for _, id := range []string{"a", "b", "c"} {
		addContainer(t, database, azcosmos.ContainerProperties{ID: id}, 0)
	}
	list := func(query string, parameters ...azcosmos.QueryParameter) []string {
		pager := database.NewQueryContainersPager(query, &azcosmos.QueryContainersOptions{QueryParameters: parameters})
		seen := []string{}
		for pager.More() {
			page, err := pager.NextPage(ctx)
			ok(t, err)
			for _, c := range page.Containers {
				seen = append(seen, c.ID)
			}
		}
		return seen
	}
	equal(t, 3, len(list("SELECT * FROM root")))
	equal(t, []string{"c"}, list("SELECT * FROM root r WHERE r.id = @id", azcosmos.QueryParameter{Name: "@id", Value: "c"}))
}

func Test_B43_manual_throughput(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 500)
	response, err := container.ReadThroughput(ctx, nil)
	ok(t, err)
	ru, manual := response.ThroughputProperties.ManualThroughput()
	equal(t, true, manual)
	equal(t, int32(500), ru)
	equal(t, false, response.IsReplacePending)
	check(t, response.MinThroughput != nil && *response.MinThroughput == 400, "x-ms-cosmos-min-throughput")
	_, err = container.ReplaceThroughput(ctx, azcosmos.NewManualThroughputProperties(900), nil)
	ok(t, err)
	response, err = container.ReadThroughput(ctx, nil)
	ok(t, err)
	ru, _ = response.ThroughputProperties.ManualThroughput()
	equal(t, int32(900), ru)
	_, err = container.ReplaceThroughput(ctx, azcosmos.NewManualThroughputProperties(350), nil)
	status(t, http.StatusBadRequest, err)
}

func Test_B44_autoscale_throughput(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, connect(t), nil)
	throughput := azcosmos.NewAutoscaleThroughputPropertiesWithIncrement(4000, 5)
	_, err := database.CreateContainer(ctx, azcosmos.ContainerProperties{ID: "c", PartitionKeyDefinition: keyOf(2, "/pk")},
		&azcosmos.CreateContainerOptions{ThroughputProperties: &throughput})
	ok(t, err)
	container, err := database.NewContainer("c")
	ok(t, err)
	response, err := container.ReadThroughput(ctx, nil)
	ok(t, err)
	ru, auto := response.ThroughputProperties.AutoscaleMaxThroughput()
	equal(t, true, auto)
	equal(t, int32(4000), ru)
	percent, set := response.ThroughputProperties.AutoscaleIncrement()
	equal(t, true, set)
	equal(t, int32(5), percent)
	_, err = container.ReplaceThroughput(ctx, azcosmos.NewAutoscaleThroughputProperties(6000), nil)
	ok(t, err)
	response, err = container.ReadThroughput(ctx, nil)
	ok(t, err)
	ru, _ = response.ThroughputProperties.AutoscaleMaxThroughput()
	equal(t, int32(6000), ru)
	_, err = container.ReplaceThroughput(ctx, azcosmos.NewAutoscaleThroughputProperties(1500), nil)
	status(t, http.StatusBadRequest, err)
}

func Test_B45_shared_throughput(t *testing.T) {
	t.Parallel()
	throughput := azcosmos.NewManualThroughputProperties(600)
	database := newDatabase(t, connect(t), &throughput)
	response, err := database.ReadThroughput(ctx, nil)
	ok(t, err)
	ru, _ := response.ThroughputProperties.ManualThroughput()
	equal(t, int32(600), ru)
	shared := addContainer(t, database, azcosmos.ContainerProperties{}, 0)
	_, err = shared.ReadThroughput(ctx, nil)
	check(t, err != nil, "a container in a shared database has no offer of its own")
	own := addContainer(t, database, azcosmos.ContainerProperties{}, 400)
	_, err = own.ReadThroughput(ctx, nil)
	ok(t, err)
	_, err = database.ReplaceThroughput(ctx, azcosmos.NewManualThroughputProperties(800), nil)
	ok(t, err)
}

func Test_B47_three_ranges(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 18000)
	ranges, err := container.ReadFeedRanges(ctx, nil)
	ok(t, err)
	equal(t, []azcosmos.FeedRange{
		{MinInclusive: "", MaxExclusive: "15555555555555555555555555555555"},
		{MinInclusive: "15555555555555555555555555555555", MaxExclusive: "2AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
		{MinInclusive: "2AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", MaxExclusive: "FF"},
	}, ranges)
}

func Test_B54_quota(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	for _, id := range []string{"1", "2", "3"} {
		create(t, container, pk("a"), object{"id": id, "pk": "a"})
	}
	response, err := container.Read(ctx, &azcosmos.ReadContainerOptions{PopulateQuotaInfo: true})
	ok(t, err)
	headers := response.RawResponse.Header
	check(t, strings.Contains(headers.Get("x-ms-resource-quota"), "documentsSize="), headers.Get("x-ms-resource-quota"))
	check(t, strings.Contains(headers.Get("x-ms-resource-usage"), "documentsCount=3;"), headers.Get("x-ms-resource-usage"))
}
