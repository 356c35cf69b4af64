package sdk

import (
	"fmt"
	"net/http"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func query(t testing.TB, container *azcosmos.ContainerClient, text string, key azcosmos.PartitionKey, options *azcosmos.QueryOptions) [][]byte {
	t.Helper()
	pager := container.NewQueryItemsPager(text, key, options)
	out := [][]byte{}
	for pager.More() {
		page, err := pager.NextPage(ctx)
		ok(t, err)
		out = append(out, page.Items...)
	}
	return out
}

func ids(t testing.TB, items [][]byte) []string {
	t.Helper()
	out := []string{}
	for _, item := range items {
		out = append(out, parse(t, item)["id"].(string))
	}
	sort.Strings(out)
	return out
}

func name(n int) string { return fmt.Sprintf("i%04d", n) }

func fill(t *testing.T, container *azcosmos.ContainerClient, count int) []string {
	t.Helper()
	all := make([]string, count)
	errs := make(chan error, count)
	var wait sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for n := worker; n < count; n += 8 {
				all[n] = name(n)
				key := fmt.Sprintf("k%d", n%37)
				_, err := container.CreateItem(ctx, pk(key), []byte(fmt.Sprintf(`{"id":"%s","pk":"%s","n":%d}`, name(n), key, n)), nil)
				errs <- err
			}
		}()
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		ok(t, err)
	}
	return all
}

func Test_B34_whole_container(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 18000)
	all := fill(t, container, 120)
	pager := container.NewQueryItemsPager("SELECT * FROM c", azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{PageSizeHint: 17})
	seen := [][]byte{}
	for pager.More() {
		page, err := pager.NextPage(ctx)
		ok(t, err)
		check(t, len(page.Items) <= 17, "page size")
		seen = append(seen, page.Items...)
	}
	equal(t, all, ids(t, seen))
}

func Test_B35_continuation(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 18000)
	all := fill(t, container, 60)
	seen := [][]byte{}
	var token *string
	for rounds := 0; ; rounds++ {
		check(t, rounds < 60, "the continuation must come to an end")
		pager := container.NewQueryItemsPager("SELECT * FROM c", azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{PageSizeHint: 11, ContinuationToken: token})
		page, err := pager.NextPage(ctx)
		ok(t, err)
		seen = append(seen, page.Items...)
		token = page.ContinuationToken
		if token == nil || *token == "" {
			break
		}
	}
	equal(t, all, ids(t, seen))
}

func Test_B36_parameters(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 18000)
	fill(t, container, 60)
	run := func(text string, key azcosmos.PartitionKey, pairs ...any) []string {
		options := &azcosmos.QueryOptions{}
		for at := 0; at < len(pairs); at += 2 {
			options.QueryParameters = append(options.QueryParameters, azcosmos.QueryParameter{Name: pairs[at].(string), Value: pairs[at+1]})
		}
		return ids(t, query(t, container, text, key, options))
	}
	cross := azcosmos.NewPartitionKey()
	equal(t, []string{"i0007"}, run("SELECT * FROM c WHERE c.id = @id", cross, "@id", "i0007"))
	equal(t, []string{"i0003", "i0040"}, run("SELECT * FROM c WHERE c.pk = @pk", cross, "@pk", "k3"))
	equal(t, []string{"i0003", "i0040"}, run("SELECT * FROM c", pk("k3")))
	equal(t, []string{"i0010", "i0011", "i0012"}, run("SELECT * FROM c WHERE c.n >= @low AND c.n < @high", cross, "@low", 10, "@high", 13))
	equal(t, []string{}, run("SELECT * FROM c WHERE c.id = @id", cross, "@id", "none"))
	_, err := container.NewQueryItemsPager("SELECT * FROM WHERE", cross, nil).NextPage(ctx)
	status(t, http.StatusBadRequest, err)
}

func Test_B37_read_many(t *testing.T) {
	// This SDK hashes version 1 keys to other texts than the service's range boundaries, so V1 works in one range only.
	for version, ru := range map[int]int32{1: 400, 2: 18000} {
		t.Run(fmt.Sprintf("V%d", version), func(t *testing.T) {
			container := newContainer(t, azcosmos.ContainerProperties{PartitionKeyDefinition: keyOf(version, "/pk")}, ru)
			all := fill(t, container, 60)
			wanted := []azcosmos.ItemIdentity{}
			for n := 5; n < 45; n++ {
				wanted = append(wanted, azcosmos.ItemIdentity{ID: name(n), PartitionKey: pk(fmt.Sprintf("k%d", n%37))})
			}
			wanted = append(wanted, azcosmos.ItemIdentity{ID: "none", PartitionKey: pk("k1")}, azcosmos.ItemIdentity{ID: name(1), PartitionKey: pk("k2")})
			response, err := container.ReadManyItems(ctx, wanted, nil)
			ok(t, err)
			equal(t, all[5:45], ids(t, response.Items))
		})
	}
}

func statuses(response azcosmos.TransactionalBatchResponse) []int32 {
	out := []int32{}
	for _, r := range response.OperationResults {
		out = append(out, r.StatusCode)
	}
	return out
}

func Test_B39_batch(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	for _, id := range []string{"read", "replace", "patch", "delete"} {
		create(t, container, pk("a"), object{"id": id, "pk": "a", "n": 1})
	}
	batch := container.NewTransactionalBatch(pk("a"))
	patch := azcosmos.PatchOperations{}
	patch.AppendIncrement("/n", 4)
	batch.CreateItem([]byte(`{"id":"new","pk":"a"}`), nil)
	batch.UpsertItem([]byte(`{"id":"ups","pk":"a"}`), nil)
	batch.ReadItem("read", nil)
	batch.ReplaceItem("replace", []byte(`{"id":"replace","pk":"a","n":2}`), nil)
	batch.PatchItem("patch", patch, nil)
	batch.DeleteItem("delete", nil)
	batch.ReadItem("new", nil)
	response, err := container.ExecuteTransactionalBatch(ctx, batch, &azcosmos.TransactionalBatchOptions{EnableContentResponseOnWrite: true})
	ok(t, err)
	equal(t, true, response.Success)
	equal(t, []int32{201, 201, 200, 200, 200, 204, 200}, statuses(response))
	equal(t, "2", fmt.Sprint(parse(t, response.OperationResults[3].ResourceBody)["n"]))
	equal(t, string(response.OperationResults[0].ETag), parse(t, response.OperationResults[6].ResourceBody)["_etag"])
	for _, r := range response.OperationResults {
		check(t, r.RequestCharge > 0, "charge")
	}
	equal(t, "5", fmt.Sprint(read(t, container, pk("a"), "patch")["n"]))
	missing(t, container, pk("a"), "delete")
}

func Test_B40_batch_failure(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	create(t, container, pk("a"), object{"id": "there", "pk": "a", "n": 1})
	batch := container.NewTransactionalBatch(pk("a"))
	batch.CreateItem([]byte(`{"id":"x","pk":"a"}`), nil)
	batch.ReplaceItem("there", []byte(`{"id":"there","pk":"a","n":2}`), nil)
	batch.CreateItem([]byte(`{"id":"there","pk":"a"}`), nil)
	batch.DeleteItem("there", nil)
	response, err := container.ExecuteTransactionalBatch(ctx, batch, nil)
	ok(t, err)
	equal(t, false, response.Success)
	equal(t, []int32{424, 424, 409, 424}, statuses(response))
	missing(t, container, pk("a"), "x")
	equal(t, "1", fmt.Sprint(read(t, container, pk("a"), "there")["n"]))
}

func Test_B41_batch_limits(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	creates := func(count int, extra string) azcosmos.TransactionalBatch {
		batch := container.NewTransactionalBatch(pk("a"))
		for n := 0; n < count; n++ {
			batch.CreateItem([]byte(fmt.Sprintf(`{"id":"b%d","pk":"a"%s}`, n, extra)), nil)
		}
		return batch
	}
	_, err := container.ExecuteTransactionalBatch(ctx, creates(101, ""), nil)
	status(t, http.StatusBadRequest, err)
	_, err = container.ExecuteTransactionalBatch(ctx, creates(30, `,"s":"`+strings.Repeat("x", 100_000)+`"`), nil)
	status(t, http.StatusRequestEntityTooLarge, err)
	response, err := container.ExecuteTransactionalBatch(ctx, creates(100, ""), nil)
	ok(t, err)
	equal(t, true, response.Success)
	stale := azcore.ETag(`"stale"`)
	batch := container.NewTransactionalBatch(pk("a"))
	batch.CreateItem([]byte(`{"id":"c","pk":"a"}`), nil)
	batch.ReplaceItem("b0", []byte(`{"id":"b0","pk":"a"}`), &azcosmos.TransactionalBatchItemOptions{IfMatchETag: &stale})
	response, err = container.ExecuteTransactionalBatch(ctx, batch, nil)
	ok(t, err)
	equal(t, []int32{424, 412}, statuses(response))
	batch = container.NewTransactionalBatch(pk("a"))
	batch.ReplaceItem("b0", []byte(`{"id":"b0","pk":"a","n":1}`), nil)
	response, err = container.ExecuteTransactionalBatch(ctx, batch, nil)
	ok(t, err)
	equal(t, []int32{200}, statuses(response))
}
