package sdk

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// Queries over three ranges, sent whole: B57–B63.

const queried = 100

// byTieAndN has a composite index for `ORDER BY c.tie, c.n DESC`.
func byTieAndN() azcosmos.ContainerProperties {
	composite := []azcosmos.CompositeIndex{
		{Path: "/tie", Order: azcosmos.CompositeIndexAscending},
		{Path: "/n", Order: azcosmos.CompositeIndexDescending},
	}
	policy := &azcosmos.IndexingPolicy{
		Automatic: true, IndexingMode: azcosmos.IndexingModeConsistent,
		IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}}, CompositeIndexes: [][]azcosmos.CompositeIndex{composite},
	}
	return azcosmos.ContainerProperties{IndexingPolicy: policy}
}

// fillQueried adds items with `n` unique, `tie` of three values, `g` of seven, `some` on three of four.
func fillQueried(t *testing.T) *azcosmos.ContainerClient {
	t.Helper()
	container := newContainer(t, byTieAndN(), 18000)
	for n := 0; n < queried; n++ {
		key := fmt.Sprintf("k%d", n%37)
		text := fmt.Sprintf(`{"id":"%s","pk":"%s","n":%d,"tie":%d,"g":"g%d","price":%d.5`, name(n), key, n*73%queried, n%3, n%7, n%10)
		if n%4 != 0 {
			text += fmt.Sprintf(`,"some":%d`, n)
		}
		_, err := container.CreateItem(ctx, pk(key), []byte(text+"}"), nil)
		ok(t, err)
	}
	return container
}

// rows runs a query over all ranges in pages of 13 and returns its rows as JSON texts.
func rows(t *testing.T, container *azcosmos.ContainerClient, text string, parameters ...azcosmos.QueryParameter) []string {
	t.Helper()
	out := []string{}
	pager := container.NewQueryItemsPager(text, azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{PageSizeHint: 13, QueryParameters: parameters})
	for pages := 0; pager.More(); pages++ {
		check(t, pages < 100, "the pages must come to an end: "+text)
		page, err := pager.NextPage(ctx)
		ok(t, err)
		for _, item := range page.Items {
			out = append(out, string(item))
		}
	}
	return out
}

func sortedRows(rows []string) []string {
	sort.Strings(rows)
	return rows
}

func numbers(from, to int) []string {
	out := []string{}
	for n := from; n < to; n++ {
		out = append(out, fmt.Sprint(n))
	}
	return out
}

func reversed(list []string) []string {
	out := []string{}
	for at := len(list) - 1; at >= 0; at-- {
		out = append(out, list[at])
	}
	return out
}

func quotedNames(count int) []string {
	out := []string{}
	for n := 0; n < count; n++ {
		out = append(out, `"`+name(n)+`"`)
	}
	return out
}

func checkTies(t *testing.T, rows []string, descending bool) {
	t.Helper()
	seen := map[string]bool{}
	last := ""
	for _, row := range rows {
		item := parse(t, []byte(row))
		seen[item["id"].(string)] = true
		tie := fmt.Sprint(item["tie"])
		check(t, last == "" || tie == last || (tie < last) == descending, "order of "+tie+" after "+last)
		last = tie
	}
	equal(t, queried, len(seen))
	equal(t, queried, len(rows))
}

func Test_B57_order_by(t *testing.T) {
	container := fillQueried(t)
	equal(t, numbers(0, queried), rows(t, container, "SELECT VALUE c.n FROM c ORDER BY c.n"))
	equal(t, reversed(numbers(50, queried)), rows(t, container, "SELECT VALUE c.n FROM c WHERE c.n >= 50 ORDER BY c.n DESC"))
	equal(t, reversed(quotedNames(queried)), rows(t, container, "SELECT VALUE c.id FROM c ORDER BY c.id DESC"))
	checkTies(t, rows(t, container, "SELECT c.id, c.tie FROM c ORDER BY c.tie"), false)
	checkTies(t, rows(t, container, "SELECT c.id, c.tie FROM c ORDER BY c.tie DESC"), true)
	want := []string{}
	for tie := 0; tie < 3; tie++ {
		for n := queried - 1; n >= 0; n-- {
			if item := n * 37 % queried; item%3 == tie { // 37 * 73 = 1 modulo 100
				want = append(want, `"`+name(item)+`"`)
			}
		}
	}
	equal(t, want, rows(t, container, "SELECT VALUE c.id FROM c ORDER BY c.tie ASC, c.n DESC"))
	equal(t, reversed(want), rows(t, container, "SELECT VALUE c.id FROM c ORDER BY c.tie DESC, c.n ASC"))
}

func Test_B58_resumed(t *testing.T) {
	container := fillQueried(t)
	resumed := func(text string) []string {
		out := []string{}
		var token *string
		for rounds := 0; ; rounds++ {
			check(t, rounds < 60, "the continuation must come to an end")
			options := &azcosmos.QueryOptions{PageSizeHint: 11, ContinuationToken: token}
			page, err := container.NewQueryItemsPager(text, azcosmos.NewPartitionKey(), options).NextPage(ctx)
			ok(t, err)
			for _, item := range page.Items {
				out = append(out, string(item))
			}
			token = page.ContinuationToken
			if token == nil || *token == "" {
				return out
			}
		}
	}
	equal(t, numbers(0, queried), resumed("SELECT VALUE c.n FROM c ORDER BY c.n"))
	equal(t, reversed(quotedNames(queried)), resumed("SELECT VALUE c.id FROM c ORDER BY c.id DESC"))
	checkTies(t, resumed("SELECT c.id, c.tie FROM c ORDER BY c.tie"), false)
	checkTies(t, resumed("SELECT c.id, c.tie FROM c ORDER BY c.tie DESC"), true)
}

func Test_B59_aggregates(t *testing.T) {
	container := fillQueried(t)
	for text, want := range map[string]string{
		"SELECT VALUE COUNT(1) FROM c":                         "100",
		"SELECT VALUE COUNT(c.some) FROM c":                    "75",
		"SELECT VALUE SUM(c.n) FROM c":                         "4950",
		"SELECT VALUE AVG(c.n) FROM c":                         "49.5",
		"SELECT VALUE MIN(c.price) FROM c":                     "0.5",
		"SELECT VALUE MAX(c.id) FROM c":                        `"i0099"`,
		"SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'none'":     "0",
		"SELECT COUNT(1) AS n, MIN(c.n), MAX(c.n) AS h FROM c": `{"n":100,"$1":0,"h":99}`,
	} {
		equal(t, []string{want}, rows(t, container, text))
	}
}

func Test_B60_group_by(t *testing.T) {
	container := fillQueried(t)
	want := []string{}
	for g := 0; g < 7; g++ {
		count := 0
		for n := g; n < queried; n += 7 {
			count++
		}
		want = append(want, fmt.Sprintf(`{"g":"g%d","n":%d}`, g, count))
	}
	equal(t, want, sortedRows(rows(t, container, "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g")))
	equal(t, 3, len(rows(t, container, "SELECT c.tie, MAX(c.n) AS high FROM c GROUP BY c.tie")))
}

func Test_B61_distinct(t *testing.T) {
	container := fillQueried(t)
	groups := strings.Split(`"g0" "g1" "g2" "g3" "g4" "g5" "g6"`, " ")
	equal(t, groups, sortedRows(rows(t, container, "SELECT DISTINCT VALUE c.g FROM c")))
	equal(t, groups, rows(t, container, "SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g"))
	equal(t, 3, len(rows(t, container, "SELECT DISTINCT TOP 3 VALUE c.g FROM c")))
}

func Test_B62_windows(t *testing.T) {
	container := fillQueried(t)
	equal(t, 17, len(rows(t, container, "SELECT TOP 17 * FROM c")))
	equal(t, 0, len(rows(t, container, "SELECT TOP 0 * FROM c")))
	equal(t, numbers(0, 30), rows(t, container, "SELECT TOP 30 VALUE c.n FROM c ORDER BY c.n"))
	equal(t, numbers(25, 65), rows(t, container, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 25 LIMIT 40"))
	equal(t, 10, len(rows(t, container, "SELECT c.id FROM c OFFSET 90 LIMIT 40")))
	equal(t, 0, len(rows(t, container, "SELECT * FROM c OFFSET 300 LIMIT 40")))
}

func Test_B63_filters(t *testing.T) {
	container := fillQueried(t)
	equal(t, []string{`"i0003"`, `"i0040"`, `"i0077"`}, rows(t, container, "SELECT VALUE c.id FROM c WHERE c.pk = 'k3' ORDER BY c.id"))
	equal(t, 0, len(rows(t, container, "SELECT VALUE c.id FROM c WHERE c.pk = 'k3' AND c.pk = 'k4'")))
	equal(t, 2, len(rows(t, container, "SELECT * FROM c WHERE c.pk = 'k3' OFFSET 1 LIMIT 2")))
	equal(t, []string{"2"}, rows(t, container, "SELECT VALUE 1 + 1"))
	equal(t, numbers(2, 6), rows(t, container, "SELECT VALUE c.n FROM c WHERE c.n < @m ORDER BY c.n OFFSET @o LIMIT @l",
		azcosmos.QueryParameter{Name: "@m", Value: 9}, azcosmos.QueryParameter{Name: "@o", Value: 2}, azcosmos.QueryParameter{Name: "@l", Value: 4}))
}
