package sdk

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

type keyed struct {
	key  azcosmos.PartitionKey
	text string // members of the item that hold the key
}

// roundTrip checks that items with one id under different keys are different items, text preserved.
func roundTrip(t *testing.T, container *azcosmos.ContainerClient, all []keyed) {
	t.Helper()
	text := func(k keyed) string { return `{"id":"same",` + k.text + `}` }
	for _, k := range all {
		_, err := container.CreateItem(ctx, k.key, []byte(text(k)), nil)
		ok(t, err)
	}
	for _, k := range all {
		response, err := container.ReadItem(ctx, k.key, "same", nil)
		ok(t, err)
		equal(t, text(k), userPart(t, response.Value))
	}
	for _, k := range all {
		_, err := container.DeleteItem(ctx, k.key, "same", nil)
		ok(t, err)
	}
	for _, k := range all {
		missing(t, container, k.key, "same")
	}
}

func strKeys(t *testing.T, values ...string) []keyed {
	out := []keyed{}
	for _, v := range values {
		out = append(out, keyed{pk(v), `"pk":` + string(doc(t, v))})
	}
	return out
}

func Test_B11_scalar_keys(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 18000)
	number := azcosmos.NewPartitionKeyNumber
	roundTrip(t, container, append(strKeys(t, "a", "", "1", "true", "null"),
		keyed{number(1), `"pk":1`}, keyed{number(0), `"pk":0`}, keyed{number(-1.5), `"pk":-1.5`}, keyed{number(1e300), `"pk":1e300`},
		keyed{number(9007199254740991), `"pk":9007199254740991`},
		keyed{azcosmos.NewPartitionKeyBool(true), `"pk":true`}, keyed{azcosmos.NewPartitionKeyBool(false), `"pk":false`},
		keyed{azcosmos.NullPartitionKey, `"pk":null`}))
}

func Test_B13_hierarchical_keys(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, connect(t), nil)
	two := addContainer(t, database, azcosmos.ContainerProperties{PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/tenant", "/user"}}}, 0)
	definition, err := two.Read(ctx, nil)
	ok(t, err)
	equal(t, 2, definition.ContainerProperties.PartitionKeyDefinition.Version)
	roundTrip(t, two, []keyed{
		{pk("t1").AppendString("u1"), `"tenant":"t1","user":"u1"`},
		{pk("t1").AppendString("u2"), `"tenant":"t1","user":"u2"`},
		{pk("u1").AppendString("t1"), `"tenant":"u1","user":"t1"`},
		{pk("t1").AppendNumber(5), `"tenant":"t1","user":5`},
		{pk("t1").AppendNull(), `"tenant":"t1","user":null`},
	})
	three := addContainer(t, database, azcosmos.ContainerProperties{PartitionKeyDefinition: keyOf(2, "/l1", "/l2/x", "/l3")}, 18000)
	roundTrip(t, three, []keyed{
		{pk("a").AppendString("b").AppendString("c"), `"l1":"a","l2":{"x":"b"},"l3":"c"`},
		{pk("a").AppendString("b").AppendBool(true), `"l1":"a","l2":{"x":"b"},"l3":true`},
		{pk("a").AppendNumber(1).AppendString("é"), `"l1":"a","l2":{"x":1},"l3":"é"`},
	})
	for _, row := range [][]string{{"p", "a", "b"}, {"q", "a", "z"}, {"r", "n", "b"}} {
		key := pk(row[1]).AppendString(row[2]).AppendString("c")
		create(t, three, key, object{"id": row[0], "l1": row[1], "l2": object{"x": row[2]}, "l3": "c"})
	}
	equal(t, []string{"p", "q"}, ids(t, query(t, three, "SELECT * FROM c", pk("a"), nil)))
}

func Test_B14_versions(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, connect(t), nil)
	for _, version := range []int{1, 2} {
		container := addContainer(t, database, azcosmos.ContainerProperties{PartitionKeyDefinition: keyOf(version, "/pk")}, 18000)
		definition, err := container.Read(ctx, nil)
		ok(t, err)
		equal(t, version, definition.ContainerProperties.PartitionKeyDefinition.Version)
		roundTrip(t, container, append(strKeys(t, "x", strings.Repeat("long", 20)),
			keyed{azcosmos.NewPartitionKeyNumber(7), `"pk":7`}, keyed{azcosmos.NewPartitionKeyBool(true), `"pk":true`}, keyed{azcosmos.NullPartitionKey, `"pk":null`}))
	}
}

func Test_B15_unicode_keys(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 18000)
	// Beyond U+FFFF this SDK writes \UXXXXXXXX into the header, which is not JSON.
	roundTrip(t, container, strKeys(t, "é", "日本語", `a"b\c`, "tab\tnew\nline", "e\u0301", "ß", "Ω≈ç√"))
}

func Test_B16_long_keys(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	at := strings.Repeat("k", 2048)
	roundTrip(t, container, strKeys(t, at, at[1:], strings.Repeat("é", 1024)))
	_, err := container.CreateItem(ctx, pk(at+"x"), doc(t, object{"id": "1", "pk": at + "x"}), nil)
	status(t, http.StatusBadRequest, err)
}

func Test_B17_life_of_an_item(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	key := pk("a")
	created := create(t, container, key, object{"id": "1", "pk": "a", "n": 1})
	got, err := container.ReadItem(ctx, key, "1", nil)
	ok(t, err)
	equal(t, http.StatusOK, got.RawResponse.StatusCode)
	equal(t, string(created.Value), string(got.Value))
	replaced, err := container.ReplaceItem(ctx, key, "1", []byte(`{"id":"1","pk":"a","n":2}`), nil)
	ok(t, err)
	equal(t, parse(t, created.Value)["_rid"], parse(t, replaced.Value)["_rid"])
	upserted, err := container.UpsertItem(ctx, key, []byte(`{"id":"1","pk":"a","n":3}`), nil)
	ok(t, err)
	equal(t, http.StatusOK, upserted.RawResponse.StatusCode)
	upserted, err = container.UpsertItem(ctx, key, []byte(`{"id":"2","pk":"a","n":4}`), nil)
	ok(t, err)
	equal(t, http.StatusCreated, upserted.RawResponse.StatusCode)
	deleted, err := container.DeleteItem(ctx, key, "1", nil)
	ok(t, err)
	equal(t, http.StatusNoContent, deleted.RawResponse.StatusCode)
	missing(t, container, key, "1")
	equal(t, "4", fmt.Sprint(read(t, container, key, "2")["n"]))
}

func Test_B18_conflict_and_not_found(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	create(t, container, pk("a"), object{"id": "1", "pk": "a", "n": 1})
	_, err := container.CreateItem(ctx, pk("a"), []byte(`{"id":"1","pk":"a","n":2}`), nil)
	status(t, http.StatusConflict, err)
	equal(t, "1", fmt.Sprint(read(t, container, pk("a"), "1")["n"]))
	missing(t, container, pk("b"), "1")
	_, err = container.ReplaceItem(ctx, pk("a"), "2", []byte(`{"id":"2","pk":"a"}`), nil)
	status(t, http.StatusNotFound, err)
	patch := azcosmos.PatchOperations{}
	patch.AppendSet("/x", 1)
	_, err = container.PatchItem(ctx, pk("a"), "2", patch, nil)
	status(t, http.StatusNotFound, err)
	_, err = container.DeleteItem(ctx, pk("a"), "2", nil)
	status(t, http.StatusNotFound, err)
}

func Test_B19_if_match(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	when := func(etag azcore.ETag) *azcosmos.ItemOptions { return &azcosmos.ItemOptions{IfMatchEtag: &etag} }
	first := create(t, container, pk("a"), object{"id": "1", "pk": "a", "n": 1}).ETag
	second, err := container.ReplaceItem(ctx, pk("a"), "1", []byte(`{"id":"1","pk":"a","n":2}`), when(first))
	ok(t, err)
	check(t, first != second.ETag, "etags differ")
	_, err = container.ReplaceItem(ctx, pk("a"), "1", []byte(`{"id":"1","pk":"a","n":9}`), when(first))
	status(t, http.StatusPreconditionFailed, err)
	_, err = container.UpsertItem(ctx, pk("a"), []byte(`{"id":"1","pk":"a","n":9}`), when(first))
	status(t, http.StatusPreconditionFailed, err)
	patch := azcosmos.PatchOperations{}
	patch.AppendSet("/n", 9)
	_, err = container.PatchItem(ctx, pk("a"), "1", patch, when(first))
	status(t, http.StatusPreconditionFailed, err)
	_, err = container.DeleteItem(ctx, pk("a"), "1", when(first))
	status(t, http.StatusPreconditionFailed, err)
	equal(t, "2", fmt.Sprint(read(t, container, pk("a"), "1")["n"]))
	_, err = container.ReplaceItem(ctx, pk("a"), "1", []byte(`{"id":"1","pk":"a","n":3}`), when(azcore.ETagAny))
	ok(t, err)
	last, err := container.ReadItem(ctx, pk("a"), "1", nil)
	ok(t, err)
	_, err = container.DeleteItem(ctx, pk("a"), "1", when(last.ETag))
	ok(t, err)
}

func Test_B21_system_properties(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	now := time.Now().Unix()
	response, err := container.CreateItem(ctx, pk("a"), []byte(`{"id":"1","_rid":"x","pk":"a","_ts":1,"_etag":"y","_self":"z"}`), nil)
	ok(t, err)
	item := parse(t, response.Value)
	definition, err := container.Read(ctx, nil)
	ok(t, err)
	var seconds int64
	_, err = fmt.Sscan(fmt.Sprint(item["_ts"]), &seconds)
	ok(t, err)
	check(t, seconds >= now-60 && seconds <= now+60, "_ts is now")
	rid := item["_rid"].(string)
	bytes, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(rid, "-", "/"))
	ok(t, err)
	equal(t, 16, len(bytes))
	equal(t, definition.ContainerProperties.SelfLink+"docs/"+rid+"/", item["_self"])
	equal(t, string(response.ETag), item["_etag"])
	equal(t, "attachments/", item["_attachments"])
	equal(t, `{"id":"1","pk":"a"}`, userPart(t, response.Value))
}

func Test_B22_special_ids(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	all := []string{"a b", "50%", "%20", "a+b", "é", "日本", "🪐", "it's", `say "x"`, "what?", "a&b=c", "a:b;c,d", "x@y", "(1)[2]{3}", "~", "dbs", "a#b", "a%2Fb", "`^|<>$"}
	for _, id := range all {
		create(t, container, pk("a"), object{"id": id, "pk": "a"})
		equal(t, id, read(t, container, pk("a"), id)["id"])
		_, err := container.ReplaceItem(ctx, pk("a"), id, doc(t, object{"id": id, "pk": "a", "n": 1}), nil)
		ok(t, err)
	}
	sort.Strings(all)
	equal(t, all, ids(t, query(t, container, "SELECT * FROM c", pk("a"), nil)))
	for _, id := range all {
		_, err := container.DeleteItem(ctx, pk("a"), id, nil)
		ok(t, err)
	}
}

func Test_B23_text_preserved(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	text := `{"zebra":1,"id":"1","apple":[1,"two",null,true,{"z":1,"a":2},[]],"pk":"a","with space":"","":"empty name","日本":"🪐",` +
		`"num":[0,-0,-1,1.50,1.0,1e21,1E+2,5e-324,1.7976931348623157e308,9007199254740993,18446744073709551615,0.1000],` +
		`"text":"quote \" back \\ slash / tab \t nul \u0000","obj":{"b":{},"a":{"c":[[[]]]}},"$v":1,"a.b":2,"a/b":3}`
	_, err := container.CreateItem(ctx, pk("a"), []byte(text), nil)
	ok(t, err)
	response, err := container.ReadItem(ctx, pk("a"), "1", nil)
	ok(t, err)
	equal(t, text, userPart(t, response.Value))
	spaced, err := container.UpsertItem(ctx, pk("a"), []byte("{ \"id\" : \"2\",\n\t\"pk\": \"a\" , \"n\": 1.50 }"), nil)
	ok(t, err)
	equal(t, `{"id":"2","pk":"a","n":1.50}`, userPart(t, spaced.Value))
}

func Test_B24_minimal_response(t *testing.T) {
	t.Parallel()
	credential, err := azcosmos.NewKeyCredential(env("ORRERY_KEY", emulatorKey))
	ok(t, err)
	options := &azcosmos.ClientOptions{}
	options.Transport = transport(t)
	quiet, err := azcosmos.NewClientWithKey(env("ORRERY_ENDPOINT", "http://127.0.0.1:8081"), credential, options)
	ok(t, err)
	container := addContainer(t, newDatabase(t, quiet, nil), azcosmos.ContainerProperties{}, 0)
	created, err := container.CreateItem(ctx, pk("a"), []byte(`{"id":"1","pk":"a"}`), nil)
	ok(t, err)
	equal(t, http.StatusCreated, created.RawResponse.StatusCode)
	equal(t, 0, len(created.Value))
	check(t, created.ETag != "", "etag stays")
	replaced, err := container.ReplaceItem(ctx, pk("a"), "1", []byte(`{"id":"1","pk":"a","n":1}`), nil)
	ok(t, err)
	equal(t, 0, len(replaced.Value))
	upserted, err := container.UpsertItem(ctx, pk("a"), []byte(`{"id":"1","pk":"a","n":2}`), nil)
	ok(t, err)
	equal(t, 0, len(upserted.Value))
	item := read(t, container, pk("a"), "1")
	equal(t, "2", fmt.Sprint(item["n"]))
	equal(t, string(upserted.ETag), item["_etag"])
}

func Test_B25_two_megabytes(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	body := func(size int) []byte {
		frame := len(`{"id":"1","pk":"a","s":""}`)
		return []byte(`{"id":"1","pk":"a","s":"` + strings.Repeat("x", size-frame) + `"}`)
	}
	_, err := container.CreateItem(ctx, pk("a"), body(2*1024*1024+1), nil)
	status(t, http.StatusRequestEntityTooLarge, err)
	missing(t, container, pk("a"), "1")
	_, err = container.CreateItem(ctx, pk("a"), body(2*1024*1024), nil)
	ok(t, err)
	response, err := container.ReadItem(ctx, pk("a"), "1", nil)
	ok(t, err)
	equal(t, 2*1024*1024, len(userPart(t, response.Value)))
}

func Test_B26_bad_ids(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	long := strings.Repeat("x", 1023)
	for _, text := range []string{`{"pk":"a"}`, `{"id":"","pk":"a"}`, `{"id":5,"pk":"a"}`, `{"id":null,"pk":"a"}`, `{"id":"a/b","pk":"a"}`,
		`{"id":"a\\b","pk":"a"}`, `{"id":"x` + long + `","pk":"a"}`} {
		_, err := container.CreateItem(ctx, pk("a"), []byte(text), nil)
		status(t, http.StatusBadRequest, err)
	}
	create(t, container, pk("a"), object{"id": long, "pk": "a"})
	equal(t, long, read(t, container, pk("a"), long)["id"])
	create(t, container, pk("a"), object{"id": "1", "pk": "a"})
	_, err := container.ReplaceItem(ctx, pk("a"), "1", []byte(`{"id":"2","pk":"a"}`), nil)
	status(t, http.StatusBadRequest, err)
	_, err = container.ReplaceItem(ctx, pk("a"), "1", []byte(`{"id":"1","pk":"b"}`), nil)
	status(t, http.StatusBadRequest, err)
}

func Test_B27_patch(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	_, err := container.CreateItem(ctx, pk("a"), []byte(`{"id":"1","pk":"a","n":1,"gone":true}`), nil)
	ok(t, err)
	patch := azcosmos.PatchOperations{}
	patch.AppendAdd("/added", object{"x": 1})
	patch.AppendSet("/added/y", []int{1})
	patch.AppendReplace("/n", 5)
	patch.AppendRemove("/gone")
	patch.AppendIncrement("/n", 2)
	patch.AppendIncrement("/fresh", 3)
	response, err := container.PatchItem(ctx, pk("a"), "1", patch, nil)
	ok(t, err)
	equal(t, `{"id":"1","pk":"a","n":7,"added":{"x":1,"y":[1]},"fresh":3}`, userPart(t, response.Value))
}

func Test_B28_patch_arrays(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	_, err := container.CreateItem(ctx, pk("a"), []byte(`{"id":"1","pk":"a","list":["a","b","c"],"x/y":1,"m~n":1}`), nil)
	ok(t, err)
	patch := azcosmos.PatchOperations{}
	patch.AppendAdd("/list/1", "inserted")
	patch.AppendAdd("/list/-", "last")
	patch.AppendSet("/list/0", "A")
	patch.AppendRemove("/list/2")
	patch.AppendReplace("/x~1y", 2)
	patch.AppendIncrement("/m~0n", 1)
	response, err := container.PatchItem(ctx, pk("a"), "1", patch, nil)
	ok(t, err)
	equal(t, `{"id":"1","pk":"a","list":["A","inserted","c","last"],"x/y":2,"m~n":2}`, userPart(t, response.Value))
}

func Test_B29_conditional_patch(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	create(t, container, pk("a"), object{"id": "1", "pk": "a", "n": 1})
	patch := azcosmos.PatchOperations{}
	patch.AppendIncrement("/n", 1)
	patch.SetCondition("from c where c.n = 5")
	_, err := container.PatchItem(ctx, pk("a"), "1", patch, nil)
	status(t, http.StatusPreconditionFailed, err)
	equal(t, "1", fmt.Sprint(read(t, container, pk("a"), "1")["n"]))
	patch.SetCondition("from c where c.n = 1")
	_, err = container.PatchItem(ctx, pk("a"), "1", patch, nil)
	ok(t, err)
	equal(t, "2", fmt.Sprint(read(t, container, pk("a"), "1")["n"]))
}

func Test_B30_refused_patches(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	before := create(t, container, pk("a"), object{"id": "1", "pk": "a", "s": "text", "list": []int{1}})
	bad := map[string]func(p *azcosmos.PatchOperations){
		"eleven": func(p *azcosmos.PatchOperations) {
			for n := 0; n < 10; n++ {
				p.AppendSet(fmt.Sprintf("/q%d", n), n)
			}
		},
		"replace of nothing": func(p *azcosmos.PatchOperations) { p.AppendReplace("/none", 1) },
		"remove of nothing":  func(p *azcosmos.PatchOperations) { p.AppendRemove("/none") },
		"incr of a string":   func(p *azcosmos.PatchOperations) { p.AppendIncrement("/s", 1) },
		"id":                 func(p *azcosmos.PatchOperations) { p.AppendSet("/id", "2") },
		"key":                func(p *azcosmos.PatchOperations) { p.AppendSet("/pk", "b") },
		"system":             func(p *azcosmos.PatchOperations) { p.AppendSet("/_ts", 1) },
		"index":              func(p *azcosmos.PatchOperations) { p.AppendAdd("/list/5", 1) },
	}
	for name, add := range bad {
		patch := azcosmos.PatchOperations{}
		patch.AppendSet("/first", 1)
		add(&patch)
		_, err := container.PatchItem(ctx, pk("a"), "1", patch, nil)
		if err == nil {
			t.Fatalf("%s was accepted", name)
		}
		status(t, http.StatusBadRequest, err)
	}
	after, err := container.ReadItem(ctx, pk("a"), "1", nil)
	ok(t, err)
	equal(t, string(before.Value), string(after.Value))
}

func Test_B31_container_ttl(t *testing.T) {
	ttl := int32(2)
	container := newContainer(t, azcosmos.ContainerProperties{DefaultTimeToLive: &ttl}, 0)
	create(t, container, pk("a"), object{"id": "1", "pk": "a"})
	create(t, container, pk("a"), object{"id": "stays", "pk": "a", "ttl": -1})
	sleepUntilExpired()
	missing(t, container, pk("a"), "1")
	equal(t, []string{"stays"}, ids(t, query(t, container, "SELECT * FROM c", pk("a"), nil)))
	_, err := container.ReplaceItem(ctx, pk("a"), "1", []byte(`{"id":"1","pk":"a"}`), nil)
	status(t, http.StatusNotFound, err)
	create(t, container, pk("a"), object{"id": "1", "pk": "a"})
}

func Test_B32_item_ttl(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, connect(t), nil)
	ttl := int32(-1)
	container := addContainer(t, database, azcosmos.ContainerProperties{DefaultTimeToLive: &ttl}, 0)
	off := addContainer(t, database, azcosmos.ContainerProperties{}, 0)
	create(t, container, pk("a"), object{"id": "short", "pk": "a", "ttl": 2})
	create(t, container, pk("a"), object{"id": "kept", "pk": "a", "ttl": 2})
	create(t, container, pk("a"), object{"id": "forever", "pk": "a"})
	create(t, off, pk("a"), object{"id": "ignored", "pk": "a", "ttl": 1})
	for _, text := range []string{`{"id":"z","pk":"a","ttl":0}`, `{"id":"z","pk":"a","ttl":"5"}`, `{"id":"z","pk":"a","ttl":1.5}`, `{"id":"z","pk":"a","ttl":-2}`, `{"id":"z","pk":"a","ttl":null}`} {
		_, err := container.CreateItem(ctx, pk("a"), []byte(text), nil)
		status(t, http.StatusBadRequest, err)
	}
	_, err := container.UpsertItem(ctx, pk("a"), []byte(`{"id":"kept","pk":"a","ttl":3000}`), nil)
	ok(t, err)
	sleepUntilExpired()
	missing(t, container, pk("a"), "short")
	read(t, container, pk("a"), "kept")
	read(t, container, pk("a"), "forever")
	read(t, off, pk("a"), "ignored")
}

func Test_B33_unique_keys(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{UniqueKeyPolicy: &azcosmos.UniqueKeyPolicy{
		UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/email"}}}}}, 0)
	create(t, container, pk("a"), object{"id": "1", "pk": "a", "email": "x"})
	_, err := container.CreateItem(ctx, pk("a"), []byte(`{"id":"2","pk":"a","email":"x"}`), nil)
	status(t, http.StatusConflict, err)
	create(t, container, pk("b"), object{"id": "2", "pk": "b", "email": "x"})
	create(t, container, pk("a"), object{"id": "2", "pk": "a", "email": "y"})
	_, err = container.UpsertItem(ctx, pk("a"), []byte(`{"id":"2","pk":"a","email":"x"}`), nil)
	status(t, http.StatusConflict, err)
	patch := azcosmos.PatchOperations{}
	patch.AppendSet("/email", "x")
	_, err = container.PatchItem(ctx, pk("a"), "2", patch, nil)
	status(t, http.StatusConflict, err)
	equal(t, "y", read(t, container, pk("a"), "2")["email"])
	_, err = container.DeleteItem(ctx, pk("a"), "1", nil)
	ok(t, err)
	create(t, container, pk("a"), object{"id": "3", "pk": "a", "email": "x"})
}

func Test_B52_session(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	created := create(t, container, pk("a"), object{"id": "1", "pk": "a"})
	check(t, created.SessionToken != nil && strings.Contains(*created.SessionToken, "#"), "session token")
	for n := 0; n < 20; n++ {
		written, err := container.UpsertItem(ctx, pk("a"), doc(t, object{"id": "1", "pk": "a", "n": n}), nil)
		ok(t, err)
		got, err := container.ReadItem(ctx, pk("a"), "1", &azcosmos.ItemOptions{
			SessionToken: written.SessionToken, ConsistencyLevel: azcosmos.ConsistencyLevelSession.ToPtr()})
		ok(t, err)
		equal(t, fmt.Sprint(n), fmt.Sprint(parse(t, got.Value)["n"]))
	}
	_, err := container.ReadItem(ctx, pk("a"), "1", &azcosmos.ItemOptions{ConsistencyLevel: azcosmos.ConsistencyLevelStrong.ToPtr()})
	status(t, http.StatusBadRequest, err)
}

func Test_B53_charges(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	created, err := container.CreateItem(ctx, pk("a"), []byte(`{"id":"1","pk":"a"}`), nil)
	ok(t, err)
	equal(t, float32(5.71), created.RequestCharge)
	got, err := container.ReadItem(ctx, pk("a"), "1", nil)
	ok(t, err)
	equal(t, float32(1), got.RequestCharge)
	deleted, err := container.DeleteItem(ctx, pk("a"), "1", nil)
	ok(t, err)
	equal(t, float32(5.71), deleted.RequestCharge)
	nested, err := container.CreateItem(ctx, pk("t1"), []byte(`{"id":"7","pk":"t1","tags":["x","y","x"],"dim":{"w":1,"h":1.0},"ok":true,"gone":null,"none":[],"sub":{}}`), nil)
	ok(t, err)
	equal(t, float32(8), nested.RequestCharge)
	escaped, err := container.CreateItem(ctx, pk(`a"b`), []byte(`{"id":"é","pk":"a\"b","n":1.50}`), nil)
	ok(t, err)
	equal(t, float32(6.10), escaped.RequestCharge)
}

func Test_B55_not_indexed(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, connect(t), nil)
	none := addContainer(t, database, azcosmos.ContainerProperties{IndexingPolicy: &azcosmos.IndexingPolicy{IndexingMode: azcosmos.IndexingModeNone}}, 0)
	created, err := none.CreateItem(ctx, pk("a"), []byte(`{"id":"1","pk":"a"}`), nil)
	ok(t, err)
	equal(t, float32(4.95), created.RequestCharge)
	read(t, none, pk("a"), "1")
	usual := addContainer(t, database, azcosmos.ContainerProperties{}, 0)
	exclude := azcosmos.IndexingDirectiveExclude
	created, err = usual.CreateItem(ctx, pk("a"), []byte(`{"id":"1","pk":"a"}`), &azcosmos.ItemOptions{IndexingDirective: &exclude})
	ok(t, err)
	equal(t, float32(4.95), created.RequestCharge)
}

func Test_B56_concurrent_writers(t *testing.T) {
	container := newContainer(t, azcosmos.ContainerProperties{}, 0)
	var wait sync.WaitGroup
	errs := make([]error, 16)
	for n := range errs {
		wait.Add(1)
		go func() {
			defer wait.Done()
			_, errs[n] = container.CreateItem(ctx, pk("a"), []byte(fmt.Sprintf(`{"id":"one","pk":"a","n":%d}`, n)), nil)
		}()
	}
	wait.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			status(t, http.StatusConflict, err)
		}
	}
	equal(t, 1, won)
	create(t, container, pk("a"), object{"id": "sum", "pk": "a", "n": 0})
	errs = make([]error, 40)
	for n := range errs {
		wait.Add(1)
		go func() {
			defer wait.Done()
			patch := azcosmos.PatchOperations{}
			patch.AppendIncrement("/n", 1)
			_, errs[n] = container.PatchItem(ctx, pk("a"), "sum", patch, nil)
		}()
	}
	wait.Wait()
	for _, err := range errs {
		ok(t, err)
	}
	equal(t, "40", fmt.Sprint(read(t, container, pk("a"), "sum")["n"]))
}
