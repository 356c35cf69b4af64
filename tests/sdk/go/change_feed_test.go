package sdk

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// drain reads until nothing is new; returns the changes and the continuation.
func drain(t *testing.T, container *azcosmos.ContainerClient, options azcosmos.ChangeFeedOptions) ([][]byte, string) {
	t.Helper()
	changes := [][]byte{}
	for round := 0; round < 1000; round++ {
		page, err := container.ReadChangeFeed(ctx, &options)
		ok(t, err)
		changes = append(changes, page.Items...)
		token := page.ContinuationToken
		options.Continuation = &token
		if page.RawResponse.StatusCode == http.StatusNotModified {
			return changes, token
		}
	}
	t.Fatal("the feed must come to a 304")
	return nil, ""
}

func Test_B70_change_feed(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 18000)
	all := fill(t, container, 60)
	_, err := container.DeleteItem(ctx, pk("k8"), name(8), nil)
	ok(t, err)
	whole := azcosmos.FeedRange{MinInclusive: "", MaxExclusive: "FF"}
	changes, token := drain(t, container, azcosmos.ChangeFeedOptions{FeedRange: &whole, MaxItemCount: 7})
	equal(t, append(append([]string{}, all[:8]...), all[9:]...), ids(t, changes))
	for _, change := range changes {
		check(t, fmt.Sprint(parse(t, change)["_lsn"]) > "0", "an LSN")
	}
	_, err = container.UpsertItem(ctx, pk("k3"), []byte(`{"id":"late","pk":"k3"}`), nil)
	ok(t, err)
	changes, _ = drain(t, container, azcosmos.ChangeFeedOptions{Continuation: &token})
	equal(t, []string{"late"}, ids(t, changes))
}

func Test_B71_change_feed_from_a_time(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 18000)
	fill(t, container, 20)
	time.Sleep(1100 * time.Millisecond)
	since := time.Now()
	time.Sleep(1100 * time.Millisecond)
	_, err := container.UpsertItem(ctx, pk("k3"), []byte(`{"id":"late","pk":"k3"}`), nil)
	ok(t, err)
	whole := azcosmos.FeedRange{MinInclusive: "", MaxExclusive: "FF"}
	changes, _ := drain(t, container, azcosmos.ChangeFeedOptions{FeedRange: &whole, StartFrom: &since})
	equal(t, []string{"late"}, ids(t, changes))
}

func Test_B72_change_feed_by_range(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 18000)
	all := fill(t, container, 60)
	ranges, err := container.ReadFeedRanges(ctx, nil)
	ok(t, err)
	check(t, len(ranges) == 3, "three ranges")
	seen := [][]byte{}
	for i := range ranges {
		changes, _ := drain(t, container, azcosmos.ChangeFeedOptions{FeedRange: &ranges[i]})
		check(t, len(changes) > 0 && len(changes) < 60, "a part")
		seen = append(seen, changes...)
	}
	equal(t, all, ids(t, seen))
}
