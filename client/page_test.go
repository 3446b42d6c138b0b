package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestR4QueryValues(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("x", 3600))
	q := RunQuery{
		States: []RunState{StateQueued, StateBlocked}, Sources: []string{"API", "CLI"}, TaskStatuses: []string{"running"},
		Name: "n", ModelID: "m", Creator: "c", Executor: "e", EnvironmentID: "empty-environment", Skill: "o/r:s", ScheduleID: "sc",
		FactoryUIDs: []string{"f1", "f2"}, FactoryOnly: true, AutomationID: "a", WebhookID: "w", DeliveryID: "d", ParentRunID: "p",
		AncestorRunID: "an", WorkerHost: "wh", ArtifactType: "FILE", Query: "two words", Metadata: map[string]string{"k.1": "a&b"},
		CreatedAfter: at, CreatedBefore: at, UpdatedAfter: at, UpdatedBefore: at, SortBy: "title", SortOrder: "asc", Limit: 7, Cursor: "cur",
	}
	stamp := "2026-01-02T02:04:05.000006Z"
	want := url.Values{
		"state": {"QUEUED", "BLOCKED"}, "source": {"API", "CLI"}, "task_status": {"running"}, "name": {"n"}, "model_id": {"m"},
		"creator": {"c"}, "executor": {"e"}, "environment_id": {"empty-environment"}, "skill": {"o/r:s"}, "schedule_id": {"sc"},
		"factory_uid": {"f1", "f2"}, "factory_only": {"true"}, "automation_id": {"a"}, "webhook_id": {"w"}, "delivery_id": {"d"},
		"parent_run_id": {"p"}, "ancestor_run_id": {"an"}, "worker_host": {"wh"}, "artifact_type": {"FILE"}, "q": {"two words"},
		"metadata[k.1]": {"a&b"}, "created_after": {stamp}, "created_before": {stamp}, "updated_after": {stamp}, "updated_before": {stamp},
		"sort_by": {"title"}, "sort_order": {"asc"}, "limit": {"7"}, "cursor": {"cur"},
	}
	if got := q.values(); got.Encode() != want.Encode() {
		t.Errorf("got  %s\nwant %s", got.Encode(), want.Encode())
	}
	if got := (RunQuery{}).values(); len(got) != 0 {
		t.Errorf("the zero query sends %v", got)
	}
}

func pageOf(cursor string, ids ...string) http.HandlerFunc {
	var runs []string
	for _, id := range ids {
		runs = append(runs, fmt.Sprintf(`{"run_id":%q,"state":"QUEUED"}`, id))
	}
	return answer(200, fmt.Sprintf(`{"runs":[%s],"page_info":{"has_next_page":%v,"next_cursor":%q}}`, strings.Join(runs, ","), cursor != "", cursor))
}

func TestH8AllPages(t *testing.T) {
	t.Parallel()
	// The third page is empty: the server stopped at its budget of rows.
	c, s := scripted(t, pageOf("c1", "a", "b"), pageOf("c2", "c"), pageOf("c3"), pageOf("", "d"))
	var ids []string
	for run, err := range c.Runs.All(t.Context(), RunQuery{Name: "n", Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, run.RunID)
	}
	if !slices.Equal(ids, []string{"a", "b", "c", "d"}) {
		t.Errorf("ids %v", ids)
	}
	var queries []string
	for _, r := range s.requests() {
		queries = append(queries, r.query)
	}
	want := []string{"limit=2&name=n", "cursor=c1&limit=2&name=n", "cursor=c2&limit=2&name=n", "cursor=c3&limit=2&name=n"}
	if !slices.Equal(queries, want) {
		t.Errorf("queries %q, want %q", queries, want)
	}
}

func TestH8AllCanBeUsedTwice(t *testing.T) {
	t.Parallel()
	c, _ := scripted(t, pageOf("c1", "a"), pageOf("", "b"), pageOf("c1", "a"), pageOf("", "b"))
	all := c.Runs.All(t.Context(), RunQuery{})
	for range 2 {
		n := 0
		for _, err := range all {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 2 {
			t.Errorf("%d runs, want 2", n)
		}
	}
}

func TestH8AllStopsEarly(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, pageOf("c1", "a", "b"))
	for range c.Runs.All(t.Context(), RunQuery{}) {
		break
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestH8AllEndsAtErrors(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]http.HandlerFunc{
		"answer":      answer(400, `{"code":"invalid_request"}`),
		"same cursor": pageOf("c1", "b"),
	} {
		c, s := scripted(t, pageOf("c1", "a"), second)
		var ids []string
		var last error
		for run, err := range c.Runs.All(t.Context(), RunQuery{}) {
			ids, last = append(ids, run.RunID), err
		}
		if last == nil || len(s.requests()) != 2 || ids[0] != "a" || ids[len(ids)-1] != "" {
			t.Errorf("%s: ids %q, error %v, %d requests", name, ids, last, len(s.requests()))
		}
	}
}

func TestH8KeyPages(t *testing.T) {
	t.Parallel()
	c, s := scripted(
		t,
		answer(200, `{"api_keys":[{"id":"k1"}],"page_info":{"has_next_page":true,"next_cursor":"c1"}}`),
		answer(200, `{"apikeys":[{"id":"k2"}],"page_info":{"has_next_page":false}}`),
	)
	keys, err := c.APIKeys.List(t.Context())
	if err != nil || len(keys) != 2 || keys[1].ID != "k2" || s.requests()[1].query != "cursor=c1" {
		t.Errorf("List = %+v, %v", keys, err)
	}
}

func TestR9AllEvents(t *testing.T) {
	t.Parallel()
	page := func(more bool, sequences ...int) http.HandlerFunc {
		var list []string
		for _, n := range sequences {
			list = append(list, fmt.Sprintf(`{"sequence":%d,"type":"notice","data":{"level":"info","text":"x"}}`, n))
		}
		return answer(200, fmt.Sprintf(`{"events":[%s],"page_info":{"has_next_page":%v,"next_cursor":"x"}}`, strings.Join(list, ","), more))
	}
	c, s := scripted(t, page(true, 3, 4), page(true, 5), page(false, 6))
	var got []int64
	for event, err := range c.Runs.AllEvents(t.Context(), "r1", EventQuery{After: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		var notice NoticeData
		if err := event.Decode(&notice); err != nil || notice.Text != "x" {
			t.Errorf("Decode = %+v, %v", notice, err)
		}
		got = append(got, event.Sequence)
	}
	if !slices.Equal(got, []int64{3, 4, 5, 6}) || s.requests()[1].query != "after=4" || s.requests()[2].query != "after=5" {
		t.Errorf("sequences %v, requests %+v", got, s.requests())
	}
	c, s = scripted(t, page(true, 3, 4)) // again and again
	got = nil
	for event, err := range c.Runs.AllEvents(t.Context(), "r1", EventQuery{After: 2}) {
		got = append(got, event.Sequence)
		if len(got) > 3 || (len(got) == 3) != errors.Is(err, ErrAnswer) {
			t.Fatalf("sequences %v, %v: want an error for the repeated page", got, err)
		}
	}
	if len(got) != 3 || len(s.requests()) != 2 {
		t.Errorf("sequences %v after %d requests", got, len(s.requests()))
	}
	c, s = scripted(t, page(true, 1, 2), answer(404, `{}`))
	for event, err := range c.Runs.AllEvents(t.Context(), "r1", EventQuery{}) {
		if (err != nil) != (event.Sequence == 0) || err != nil && !IsNotFound(err) {
			t.Errorf("event %d with %v", event.Sequence, err)
		}
	}
	for range c.Runs.AllEvents(t.Context(), "r1", EventQuery{}) {
		break
	}
	if n := len(s.requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}
