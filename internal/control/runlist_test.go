package control_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// pages reads a whole list page by page.
func (b *bench) pages(c lineshaft.Caller, q lineshaft.RunQuery) []string {
	b.Helper()
	var ids []string
	for range 100 {
		page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), c, q))
		for _, run := range page.Runs {
			ids = append(ids, run.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return ids
		}
	}
	b.Fatal("the list does not end")
	return nil
}

// someSkills is a forge with a repository of skills.
func someSkills(cfg *base.Config) {
	files := map[string]string{}
	for _, name := range []string{"s", "0", "1"} {
		files["skills/"+name+"/SKILL.md"] = skillText(name, "x")
	}
	cfg.Git = &forge{files: map[string]map[string]string{"o/r": files}}
}

func TestH8PagesWithoutGapOrRepeat(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var created []string
		for i := range 7 {
			config := lineshaft.AgentConfig{}
			if i%3 == 0 {
				config.Skills = []string{fmt.Sprint("o/r:", i%2)}
			}
			created = append(created, b.start(lineshaft.NewRun{Title: fmt.Sprint("title ", i%4), Config: config, Metadata: map[string]string{"odd": fmt.Sprint(i % 2)}}).RunID)
		}
		b.cancel(created[2]) // now it is the last updated
		for _, sort := range lineshaft.RunSorts() {
			for _, ascending := range []bool{false, true} {
				for _, filter := range []lineshaft.RunFilter{{}, {Metadata: map[string]string{"odd": "0"}}, {States: []lineshaft.RunState{lineshaft.Queued, lineshaft.Cancelled}}} {
					q := lineshaft.RunQuery{Filter: filter, Sort: sort, Ascending: ascending, Limit: 500}
					whole := b.pages(b.admin, q)
					q.Limit = 2
					if paged := b.pages(b.admin, q); !slices.Equal(paged, whole) {
						b.Errorf("%s %t %+v: pages give %v, the whole is %v", sort, ascending, filter, paged, whole)
					}
					want := 7
					if filter.Metadata != nil {
						want = 4
					}
					if len(whole) != want {
						b.Errorf("%s: %d runs", sort, len(whole))
					}
				}
			}
		}
		newest := b.pages(b.admin, lineshaft.RunQuery{Sort: lineshaft.SortCreated, Limit: 4})
		slices.Reverse(newest)
		if !slices.Equal(newest, created) {
			b.Error("not in order of creation")
		}
		if first := b.pages(b.admin, lineshaft.RunQuery{Sort: lineshaft.SortUpdated, Limit: 4})[0]; first != created[2] {
			b.Error("the cancelled run is not the last updated")
		}
	}, someSkills)
}

func TestH8CursorsBelongToTheirList(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for range 5 {
			b.start(lineshaft.NewRun{Metadata: map[string]string{"a": "1"}})
		}
		q := lineshaft.RunQuery{Filter: lineshaft.RunFilter{Metadata: map[string]string{"a": "1"}}, Sort: lineshaft.SortUpdated, Limit: 2}
		cursor := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), b.admin, q)).Next
		if cursor == "" {
			b.Fatal("no cursor")
		}
		raw := must[[]byte](b)(base64.RawURLEncoding.DecodeString(cursor))
		other := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), `"v":1`, `"v":2`, 1)))
		for name, change := range map[string]func(*lineshaft.RunQuery){
			"other sort":      func(q *lineshaft.RunQuery) { q.Sort = lineshaft.SortCreated },
			"other direction": func(q *lineshaft.RunQuery) { q.Ascending = true },
			"other filter":    func(q *lineshaft.RunQuery) { q.Filter.Metadata = map[string]string{"a": "2"} },
			"no filter":       func(q *lineshaft.RunQuery) { q.Filter = lineshaft.RunFilter{} },
			"more filters":    func(q *lineshaft.RunQuery) { q.Filter.States = []lineshaft.RunState{lineshaft.Queued} },
			"garbage":         func(q *lineshaft.RunQuery) { q.Cursor = "garbage" },
			"not base64":      func(q *lineshaft.RunQuery) { q.Cursor = "!!!" },
			"cut":             func(q *lineshaft.RunQuery) { q.Cursor = cursor[:len(cursor)/2] },
			"other version":   func(q *lineshaft.RunQuery) { q.Cursor = other },
			"a run id":        func(q *lineshaft.RunQuery) { q.Cursor = b.newID() },
			"empty object":    func(q *lineshaft.RunQuery) { q.Cursor = base64.RawURLEncoding.EncodeToString([]byte("{}")) },
		} {
			changed := q
			changed.Cursor = cursor
			change(&changed)
			if _, err := b.s.ListRuns(b.Context(), b.admin, changed); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
				b.Errorf("%s: %v", name, err)
			}
		}
		q.Cursor, q.Limit = cursor, 100 // the size of a page may change
		if page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), b.admin, q)); len(page.Runs) != 3 || page.Next != "" {
			b.Errorf("%d runs", len(page.Runs))
		}
	})
}

// A cursor is not a key: with another caller's it still shows only what one may see.
func TestH8CursorGivesNoSight(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for _, factory := range []string{"f1", "f2", "f1", "f2", "f1"} {
			b.inFactory(factory, lineshaft.NewRun{})
		}
		q := lineshaft.RunQuery{Sort: lineshaft.SortCreated, Limit: 1}
		q.Cursor = must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), b.admin, q)).Next
		q.Limit = 10
		page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), b.caller(lineshaft.RoleViewer, "f2"), q))
		if len(page.Runs) != 2 || page.Runs[0].FactoryUID != "f2" {
			b.Fatalf("%+v", page.Runs)
		}
	})
}

func TestR4Filters(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		member := b.caller(lineshaft.RoleMember)
		b.environment("env")
		plain := b.start(lineshaft.NewRun{Prompt: "plain words"}).RunID
		mid := b.clock.now()
		b.clock.advance(time.Second)
		rich := b.start(lineshaft.NewRun{
			Prompt: "search for Überraschung", Source: lineshaft.SourceMCP, ParentRunID: plain, Metadata: map[string]string{"a": "1", "b": "2"},
			Config: lineshaft.AgentConfig{Name: "ann", ModelID: "m", EnvironmentID: "env", WorkerHost: "box", Skills: []string{"o/r:s"}},
		}).RunID
		foreign, err := b.as(member, lineshaft.NewRun{})
		wantCode(b, err, "")
		must[bool](b)(b.s.SettleRuns(b.Context()))
		all := []string{foreign.RunID, rich, plain}
		for name, test := range map[string]struct {
			filter lineshaft.RunFilter
			want   []string
		}{
			"none":             {lineshaft.RunFilter{}, all},
			"state":            {lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Queued}}, all},
			"no states":        {lineshaft.RunFilter{States: []lineshaft.RunState{}}, nil},
			"other state":      {lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Failed, lineshaft.Blocked}}, nil},
			"source":           {lineshaft.RunFilter{Sources: []lineshaft.Source{lineshaft.SourceMCP, "LINEAR"}}, []string{rich}},
			"name":             {lineshaft.RunFilter{Name: "ann"}, []string{rich}},
			"model":            {lineshaft.RunFilter{ModelID: "m"}, []string{rich}},
			"creator":          {lineshaft.RunFilter{Creator: member.Principal.UID}, []string{foreign.RunID}},
			"executor":         {lineshaft.RunFilter{Executor: b.admin.Principal.UID}, []string{rich, plain}},
			"created before":   {lineshaft.RunFilter{CreatedBefore: mid}, []string{plain}},
			"created after":    {lineshaft.RunFilter{CreatedAfter: mid}, []string{foreign.RunID, rich}},
			"environment":      {lineshaft.RunFilter{EnvironmentID: "env"}, []string{rich}},
			"no environment":   {lineshaft.RunFilter{NoEnvironment: true}, []string{foreign.RunID, plain}},
			"skill":            {lineshaft.RunFilter{SkillSpec: "o/r:s"}, []string{rich}},
			"factory only":     {lineshaft.RunFilter{FactoryOnly: true}, nil},
			"parent":           {lineshaft.RunFilter{ParentRunID: plain}, []string{rich}},
			"ancestor":         {lineshaft.RunFilter{AncestorRunID: plain}, []string{rich}},
			"worker":           {lineshaft.RunFilter{WorkerHost: "box"}, []string{rich}},
			"hosted":           {lineshaft.RunFilter{WorkerHost: lineshaft.HostedWorker}, []string{foreign.RunID, plain}},
			"metadata":         {lineshaft.RunFilter{Metadata: map[string]string{"a": "1", "b": "2"}}, []string{rich}},
			"half of metadata": {lineshaft.RunFilter{Metadata: map[string]string{"a": "1", "b": "3"}}, nil},
			"local":            {lineshaft.RunFilter{Local: true}, nil},
			"words":            {lineshaft.RunFilter{Query: "SEARCH überr"}, []string{rich}},
			"id":               {lineshaft.RunFilter{Query: plain}, []string{plain}},
			"odd words":        {lineshaft.RunFilter{Query: `"'*:&|!() --`}, nil},
			"and":              {lineshaft.RunFilter{ModelID: "m", Creator: member.Principal.UID}, nil},
		} {
			if got := b.list(test.filter); !slices.Equal(got, test.want) {
				b.Errorf("%s: %v, want %v", name, got, test.want)
			}
		}
		_, err = b.s.ListRuns(b.Context(), b.admin, lineshaft.RunQuery{Filter: lineshaft.RunFilter{AncestorRunID: b.newID()}, Sort: lineshaft.SortCreated, Limit: 1})
		wantCode(b, err, lineshaft.CodeNotFound)
	}, someSkills)
}

// S-3: runs are read by their ids in one go, as far as the key reaches.
func TestS3RunsByID(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		inside, none := b.inFactory("f1", lineshaft.NewRun{}), b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "away"}}).RunID
		titles := func(c lineshaft.Caller, ids ...string) string {
			b.Helper()
			var list []string
			for _, run := range must[[]lineshaft.Run](b)(b.s.RunsByID(b.Context(), c, ids)) {
				list = append(list, run.ID)
			}
			return strings.Join(list, " ")
		}
		given := []string{none, "x", inside, b.newID(), none}
		if got := titles(b.admin, given...); got != none+" "+inside {
			b.Errorf("read %s", got)
		}
		if got := titles(b.caller(lineshaft.RoleViewer, "f1"), given...); got != inside {
			b.Errorf("a key of a factory reads %s", got)
		}
		if got := titles(lineshaft.Caller{Role: lineshaft.RoleRun, RunID: none}, given...); got != none {
			b.Errorf("a run's token reads %s", got)
		}
		if got := titles(b.admin); got != "" {
			b.Errorf("no ids read %s", got)
		}
		if run := must[[]lineshaft.Run](b)(b.s.RunsByID(b.Context(), b.admin, []string{none}))[0]; !strings.Contains(run.Status.Message, "not connected") {
			b.Errorf("a run that waits says %q", run.Status.Message)
		}
		_, err := b.s.RunsByID(b.Context(), b.admin, make([]string, runs.MaxRunsByID+1))
		wantCode(b, err, lineshaft.CodeInvalidRequest)
	})
}

// a filter of ended runs cancels nothing, and one of both only those that live.
func TestR9CancelMatchingSkipsEndedRuns(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		live, ended := b.start(lineshaft.NewRun{}).RunID, b.start(lineshaft.NewRun{}).RunID
		b.cancel(ended)
		for _, states := range [][]lineshaft.RunState{{lineshaft.Cancelled}, {}} {
			if got := must[[]string](b)(b.s.CancelMatching(b.Context(), b.admin, lineshaft.RunFilter{States: states})); len(got) != 0 {
				b.Errorf("%v cancels %v", states, got)
			}
		}
		both := []lineshaft.RunState{lineshaft.Cancelled, lineshaft.Queued}
		if got := must[[]string](b)(b.s.CancelMatching(b.Context(), b.admin, lineshaft.RunFilter{States: both})); !slices.Equal(got, []string{live}) {
			b.Errorf("cancelled %v", got)
		}
	})
}

// A filter has few values, and a key for very many factories still reads its lists: the
// number of walks side by side is bounded.
func TestH8ManyFactories(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		many := []string{must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, factories.NewFactory{Name: "mill"})).UID}
		for i := range 99 {
			many = append(many, fmt.Sprintf("01890000-0000-7000-8000-%012d", i))
		}
		foreman := must[base.Page[lineshaft.Agent]](b)(b.s.ListAgents(b.Context(), b.admin, many[0], base.MaxPage, "")).Items[0].UID
		own := b.start(lineshaft.NewRun{Prompt: "own", AgentUID: foreman}).RunID
		b.start(lineshaft.NewRun{Prompt: "of nobody"})
		reader := b.caller(lineshaft.RoleViewer, many...)
		for _, sort := range lineshaft.RunSorts() {
			for _, filter := range []lineshaft.RunFilter{{}, {States: []lineshaft.RunState{lineshaft.Queued}}, {FactoryUIDs: many[:20]}} {
				if got := b.pages(reader, lineshaft.RunQuery{Filter: filter, Sort: sort, Limit: 5}); !slices.Equal(got, []string{own}) {
					b.Errorf("%s %+v: %v, want %s", sort, filter, got, own)
				}
			}
		}
		view, err := b.s.Overview(b.Context(), reader, overview.LastDay, "")
		if err != nil || view.Unused {
			b.Errorf("overview: %+v, %v", view, err)
		}
		for _, state := range view.Active {
			if state.State == lineshaft.Queued && state.Count != 1 {
				b.Errorf("%d runs are queued, want 1", state.Count)
			}
		}
		for _, filter := range []lineshaft.RunFilter{{FactoryUIDs: many[:21]}, {Sources: slices.Repeat(lineshaft.Sources()[:1], 21)}} {
			if _, err := b.s.ListRuns(b.Context(), b.admin, lineshaft.RunQuery{Filter: filter, Limit: 1}); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || !strings.Contains(err.Error(), "at most 20") {
				b.Errorf("too many values: %v", err)
			}
			if _, err := b.s.CancelMatching(b.Context(), b.admin, filter); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
				b.Errorf("cancel by too many values: %v", err)
			}
		}
		_, _, err = b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "all", Role: lineshaft.RoleViewer, FactoryUIDs: slices.Repeat(many, 3)})
		if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
			b.Errorf("a key for 300 factories: %v", err)
		}
	})
}

// A run token's list is its run and those below it, whatever the order and the pages.
func TestX15ARunTokenListsItsOwnRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		root := b.start(lineshaft.NewRun{Prompt: "m", Title: "m"}).RunID
		agent := b.token(root)
		b.start(lineshaft.NewRun{Prompt: "a stranger"})
		want := []string{root}
		for _, title := range []string{"a", "z", "n"} {
			want = append(want, must[runs.Started](b)(b.as(agent, lineshaft.NewRun{Prompt: title, Title: title})).RunID)
		}
		slices.Sort(want)
		for _, sort := range []lineshaft.RunSort{lineshaft.SortCreated, lineshaft.SortUpdated, lineshaft.SortTitle, lineshaft.SortAgent} {
			for _, limit := range []int{1, 2, 3, 4, 9} {
				var got []string
				q := lineshaft.RunQuery{Sort: sort, Ascending: limit%2 == 0, Limit: limit}
				for pages := 0; pages < 9; pages++ {
					page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), agent, q))
					for _, run := range page.Runs {
						got = append(got, run.ID)
					}
					if q.Cursor = page.Next; q.Cursor == "" {
						break
					}
				}
				if sort == lineshaft.SortCreated && !slices.IsSorted(got) && q.Ascending {
					b.Errorf("out of order: %v", got)
				}
				if slices.Sort(got); !slices.Equal(got, want) {
					b.Errorf("by %s, %d at once: %v, not %v", sort, limit, got, want)
				}
			}
		}
		below := lineshaft.RunQuery{Filter: lineshaft.RunFilter{AncestorRunID: root}, Limit: 9}
		page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), agent, below))
		if len(page.Runs) != 3 {
			b.Errorf("%d runs below it", len(page.Runs))
		}
	})
}
