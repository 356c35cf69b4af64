package sdk

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// Queries of every kind, whole, in pages of every size: B99. B98 resumes the same queries after restarts.

type sample struct {
	ID  string `json:"id"`
	PK  string `json:"pk"`
	N   int    `json:"n"`
	Tie int    `json:"tie"`
	G   string `json:"g"`
}

// samples makes items with `n` a permutation of 0 … count-1 (count has no factor 73), `tie` of three values, `g` of forty.
func samples(count int) []sample {
	out := []sample{}
	for n := 0; n < count; n++ {
		out = append(out, sample{name(n), fmt.Sprintf("k%d", n%37), n * 73 % count, n % 3, fmt.Sprintf("g%d", n%40)})
	}
	return out
}

func addSamples(t *testing.T, container *azcosmos.ContainerClient, items []sample) {
	t.Helper()
	for _, item := range items {
		create(t, container, pk(item.PK), item)
	}
}

// shape is a query and its rows as JSON texts; without ORDER BY they may come in any order.
type shape struct {
	query string
	want  []string
}

func (s shape) check(t *testing.T, got []string, how string) {
	t.Helper()
	want, got := append([]string{}, s.want...), append([]string{}, got...)
	if !strings.Contains(s.query, "ORDER BY") {
		want, got = sortedRows(want), sortedRows(got)
	}
	if strings.Join(want, "\n") != strings.Join(got, "\n") {
		t.Fatalf("%s %s: want %d rows %v, got %d rows %v", s.query, how, len(want), want, len(got), got)
	}
}

// shapes computes the rows from the items; there must be at least 60.
func shapes(items []sample) []shape {
	count := len(items)
	some := func(keep func(sample) bool, row func(sample) string) []string {
		out := []string{}
		for _, item := range items {
			if keep(item) {
				out = append(out, row(item))
			}
		}
		return out
	}
	all := func(sample) bool { return true }
	n := func(i sample) string { return fmt.Sprint(i.N) }
	distinct := func(list []string) []string {
		seen, out := map[string]bool{}, []string{}
		for _, row := range list {
			if !seen[row] {
				out = append(out, row)
			}
			seen[row] = true
		}
		return out
	}
	two := append([]sample{}, items...)
	sort.Slice(two, func(a, b int) bool {
		return two[a].Tie < two[b].Tie || two[a].Tie == two[b].Tie && two[a].N > two[b].N
	})
	twoKeys := []string{}
	for _, i := range two {
		if i.N < 50 {
			twoKeys = append(twoKeys, fmt.Sprintf(`{"tie":%d,"n":%d}`, i.Tie, i.N))
		}
	}
	total, counts, sums := 0, map[string]int{}, map[string]int{}
	for _, i := range items {
		total, counts[i.G], sums[i.G] = total+i.N, counts[i.G]+1, sums[i.G]+i.N
	}
	groups := []string{}
	for g, k := range counts {
		groups = append(groups, fmt.Sprintf(`{"g":"%s","k":%d,"s":%d}`, g, k, sums[g]))
	}
	return []shape{
		{"SELECT VALUE c.n FROM c", numbers(0, count)},
		{"SELECT VALUE c.n FROM c WHERE c.n < 60", numbers(0, 60)},
		{"SELECT VALUE c.n FROM c WHERE c.tie < 2 AND c.n > 20", some(func(i sample) bool { return i.Tie < 2 && i.N > 20 }, n)},
		{"SELECT VALUE c.n FROM c ORDER BY c.n", numbers(0, count)},
		{"SELECT VALUE c.n FROM c WHERE c.n > 29 ORDER BY c.n DESC", reversed(numbers(30, count))},
		{"SELECT VALUE c.tie FROM c ORDER BY c.tie", sortedRows(some(all, func(i sample) string { return fmt.Sprint(i.Tie) }))},
		{"SELECT c.tie, c.n FROM c WHERE c.n < 50 ORDER BY c.tie, c.n DESC", twoKeys},
		{"SELECT DISTINCT VALUE c.g FROM c", distinct(some(all, func(i sample) string { return `"` + i.G + `"` }))},
		{"SELECT DISTINCT c.g, c.tie FROM c", distinct(some(all, func(i sample) string { return fmt.Sprintf(`{"g":"%s","tie":%d}`, i.G, i.Tie) }))},
		{"SELECT c.g, COUNT(1) AS k, SUM(c.n) AS s FROM c GROUP BY c.g", groups},
		{"SELECT VALUE AVG(c.n) FROM c", []string{fmt.Sprint(float64(total) / float64(count))}},
		{"SELECT TOP 31 VALUE c.n FROM c ORDER BY c.n", numbers(0, 31)},
		{"SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 7 LIMIT 30", numbers(7, 37)},
	}
}

// pagerOf pages through a query over all ranges; size -1 leaves the pages to the server.
func pagerOf(container *azcosmos.ContainerClient, query string, size int32, token *string) *runtime.Pager[azcosmos.QueryItemsResponse] {
	return container.NewQueryItemsPager(query, azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{PageSizeHint: size, ContinuationToken: token})
}

// nextPage returns the rows of the next page, at most `size`, and its token, nil at the end.
func nextPage(t *testing.T, pager *runtime.Pager[azcosmos.QueryItemsResponse], size int32) ([]string, *string) {
	t.Helper()
	page, err := pager.NextPage(ctx)
	ok(t, err)
	check(t, size < 0 || len(page.Items) <= int(size), fmt.Sprintf("%d rows in a page of %d", len(page.Items), size))
	out := []string{}
	for _, item := range page.Items {
		out = append(out, string(item))
	}
	return out, page.ContinuationToken
}

func Test_B99_every_page_size(t *testing.T) {
	items := samples(200)
	container := newContainer(t, byTieAndN(), 18000)
	addSamples(t, container, items)
	for _, shape := range shapes(items) {
		for _, size := range []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 19, 29, 31, 59, 60, 61, 199, 200, 201, -1} {
			got := []string{}
			pager := pagerOf(container, shape.query, size, nil)
			for pages := 0; pager.More(); pages++ {
				check(t, pages < 1000, "the pages must come to an end: "+shape.query)
				more, _ := nextPage(t, pager, size)
				got = append(got, more...)
			}
			shape.check(t, got, fmt.Sprintf("by %d", size))
		}
	}
}
