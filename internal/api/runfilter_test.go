package api

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

func TestR4FilterBecomesTheDomains(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	none := []lineshaft.RunState{}
	for _, tc := range []struct {
		name   string
		filter RunFilter
		want   lineshaft.RunFilter
	}{
		{"nothing", RunFilter{}, lineshaft.RunFilter{}},
		{"states", RunFilter{State: []RunState{"QUEUED", "FAILED"}}, lineshaft.RunFilter{States: []lineshaft.RunState{"QUEUED", "FAILED"}}},
		{"task status", RunFilter{TaskStatus: []TaskStatus{"failed", "blocked"}}, lineshaft.RunFilter{States: []lineshaft.RunState{"FAILED", "ERROR", "BLOCKED"}}},
		{"both", RunFilter{State: []RunState{"QUEUED", "FAILED"}, TaskStatus: []TaskStatus{"running"}}, lineshaft.RunFilter{States: []lineshaft.RunState{"QUEUED"}}},
		{"both, never", RunFilter{State: []RunState{"FAILED"}, TaskStatus: []TaskStatus{"running"}}, lineshaft.RunFilter{States: none}},
		{"name", RunFilter{Name: "n"}, lineshaft.RunFilter{Name: "n"}},
		{"config name", RunFilter{ConfigName: "n"}, lineshaft.RunFilter{Name: "n"}},
		{"both names", RunFilter{Name: "n", ConfigName: "n"}, lineshaft.RunFilter{Name: "n"}},
		{"two names", RunFilter{Name: "n", ConfigName: "m"}, lineshaft.RunFilter{Name: "n", States: none}},
		{"skill", RunFilter{SkillSpec: "o/r:s"}, lineshaft.RunFilter{SkillSpec: "o/r:s"}},
		{"two skills", RunFilter{Skill: "a", SkillSpec: "b"}, lineshaft.RunFilter{SkillSpec: "a", States: none}},
		{"environment", RunFilter{EnvironmentID: "e"}, lineshaft.RunFilter{EnvironmentID: "e"}},
		{"no environment", RunFilter{EnvironmentID: "empty-environment"}, lineshaft.RunFilter{NoEnvironment: true}},
		{"local", RunFilter{ExecutionLocation: "LOCAL"}, lineshaft.RunFilter{Local: true}},
		{"remote", RunFilter{ExecutionLocation: "REMOTE"}, lineshaft.RunFilter{}},
		{"hosted", RunFilter{WorkerHost: "warp"}, lineshaft.RunFilter{WorkerHost: "hosted"}},
		{
			"times",
			RunFilter{CreatedAfter: at, CreatedBefore: at, UpdatedAfter: at, UpdatedBefore: at},
			lineshaft.RunFilter{CreatedAfter: at, CreatedBefore: at, UpdatedAfter: at, UpdatedBefore: at},
		},
		{
			"labels",
			RunFilter{Metadata: Metadata{"a": ""}, AutomationID: "u", WebhookID: "w", DeliveryID: "d"},
			lineshaft.RunFilter{Metadata: map[string]string{"a": "", "automation_id": "u", "webhook_id": "w", "delivery_id": "d"}},
		},
		{
			"a label twice",
			RunFilter{Metadata: Metadata{"automation_id": "v"}, AutomationID: "u"},
			lineshaft.RunFilter{Metadata: map[string]string{"automation_id": "u"}, States: none},
		},
		{
			"the rest",
			RunFilter{
				ModelID: "m", Creator: "c", Executor: "e", Source: []RunSourceType{"API"}, ScheduleID: "s", FactoryUID: []string{"f"}, FactoryOnly: true,
				ParentRunID: "p", AncestorRunID: "a", ArtifactType: "FILE", Q: "words",
			},
			lineshaft.RunFilter{
				ModelID: "m", Creator: "c", Executor: "e", Sources: []lineshaft.Source{"API"}, ScheduleID: "s", FactoryUIDs: []string{"f"}, FactoryOnly: true,
				ParentRunID: "p", AncestorRunID: "a", ArtifactType: "FILE", Query: "words",
			},
		},
	} {
		got, err := tc.filter.domain()
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", tc.name, got, err, tc.want)
		}
	}
}

// Every condition of the wire reaches the domain: a new field that domain forgets
// fails here.
func TestR4NoConditionIsForgotten(t *testing.T) {
	t.Parallel()
	kind := reflect.TypeFor[RunFilter]()
	for i := range kind.NumField() {
		var filter RunFilter
		field := reflect.ValueOf(&filter).Elem().Field(i)
		switch v := field.Addr().Interface().(type) {
		case *string:
			*v = "x"
			if kind.Field(i).Name == "ExecutionLocation" {
				*v = "LOCAL"
			}
		case *bool:
			*v = true
		case *[]string:
			*v = []string{"x"}
		case *[]RunState:
			*v = []RunState{"QUEUED"}
		case *[]TaskStatus:
			*v = []TaskStatus{"failed"}
		case *[]RunSourceType:
			*v = []RunSourceType{"API"}
		case *ArtifactType:
			*v = "FILE"
		case *Metadata:
			*v = Metadata{"a": "b"}
		case *time.Time:
			*v = time.Unix(1, 0)
		default:
			t.Fatalf("teach this test about %s", kind.Field(i).Type)
		}
		if got, err := filter.domain(); err != nil || got.IsZero() {
			t.Errorf("%s is forgotten: %v", kind.Field(i).Name, err)
		}
		tag := kind.Field(i).Tag
		if query, _, _ := strings.Cut(tag.Get("query"), ","); query == "" || !strings.HasPrefix(tag.Get("json"), query+",") {
			t.Errorf("%s: the query and the body disagree: %s", kind.Field(i).Name, tag)
		}
	}
}

func TestR4FiltersOverHTTP(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	first := b.start(lineshaft.NewRun{Prompt: "first prompt", Title: "alpha", Config: lineshaft.AgentConfig{Name: "one", ModelID: "m1"}, Metadata: map[string]string{"k": "v", "e": ""}})
	second := b.start(lineshaft.NewRun{Prompt: "second prompt", Title: "beta", Config: lineshaft.AgentConfig{Name: "two", WorkerHost: "farm"}, ParentRunID: first})
	if _, err := b.control.SettleRuns(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.control.Cancel(t.Context(), b.admin(), first, false, nil); err != nil {
		t.Fatal(err)
	}
	both := []string{first, second}
	for query, want := range map[string][]string{
		"":                                          both,
		"state=QUEUED":                              {second},
		"state=QUEUED&state=CANCELLED":              both,
		"state=&state=QUEUED":                       {second},
		"task_status=cancelled":                     {first},
		"name=one":                                  {first},
		"config_name=two":                           {second},
		"name=one&config_name=two":                  {},
		"model_id=m1":                               {first},
		"source=API&source=CLI":                     both,
		"source=CLI":                                {},
		"execution_location=REMOTE":                 both,
		"execution_location=LOCAL":                  {},
		"metadata%5Bk%5D=v":                         both, // a child inherits
		"metadata[k]=v&metadata[e]=":                both,
		"metadata[k]=w":                             {},
		"worker_host=farm":                          {second},
		"worker_host=warp":                          {first},
		"parent_run_id=" + first:                    {second},
		"ancestor_run_id=" + first:                  {second},
		"environment_id=empty-environment":          both,
		"environment_id=e":                          {},
		"q=alpha":                                   {first},
		"q=prompt":                                  both,
		"q=" + second:                               {second},
		"created_before=2020-01-01T00:00:00Z":       {},
		"created_after=2020-01-01T00:00:00Z":        both,
		"factory_only=true":                         {},
		"factory_uid=f":                             {},
		"unknown=1":                                 both,
		"limit=1&sort_by=created_at&sort_order=asc": {first},
		"sort_by=title&sort_order=desc&limit=1":     {second},
	} {
		w := b.check(t, scenario{method: get, path: "/agent/runs?" + query, as: lineshaft.RoleViewer, status: 200})
		var got []string
		for _, run := range decode[ListRunsResponse](t, w).Runs {
			got = append(got, run.RunID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
}

func TestH8PagesHaveNoGapAndNoRepeat(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	want := map[string]bool{}
	for i := range 7 {
		want[b.start(lineshaft.NewRun{Prompt: fmt.Sprint("run ", i)})] = true
	}
	cursor, pages := "", 0
	for {
		w := b.check(t, scenario{method: get, path: "/agent/runs?limit=3&sort_by=created_at&cursor=" + url.QueryEscape(cursor), as: lineshaft.RoleViewer, status: 200})
		page := decode[ListRunsResponse](t, w)
		for _, run := range page.Runs {
			if !want[run.RunID] {
				t.Errorf("%s came twice", run.RunID)
			}
			delete(want, run.RunID)
		}
		pages++
		if page.PageInfo.HasNextPage != (page.PageInfo.NextCursor != "") {
			t.Errorf("%+v", page.PageInfo)
		}
		if cursor = page.PageInfo.NextCursor; cursor == "" {
			break
		}
		b.check(t, scenario{method: get, path: "/agent/runs?limit=3&sort_by=title&cursor=" + url.QueryEscape(cursor), as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"cursor: "}})
		b.check(t, scenario{method: get, path: "/agent/runs?sort_by=created_at&name=x&cursor=" + url.QueryEscape(cursor), as: lineshaft.RoleViewer, status: 400, code: "invalid_request"})
	}
	if pages != 3 || len(want) != 0 {
		t.Errorf("%d pages, missing %v", pages, want)
	}
}
