package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

// The bars of B17: what one request of any caller may cost, and what many at once may do to
// the server and to those who send deliveries.
const (
	hostileProcessor = time.Second
	hostileMemory    = 64_000_000
	hostileTogether  = 512_000_000
	hostileSlower    = 3
	hostileReaders   = 50
	// hostilePerKey is how many of the readers have the same key.
	hostilePerKey = 4
)

// benchHostile is B17: the most expensive requests that there are, on a database that
// someone filled with malice.
func benchHostile(ctx context.Context, s *session) error {
	return s.onEach(ctx, "B17", "hostile database", s.hostileOn)
}

func (s *session) hostileOn(ctx context.Context, engine string) (err error) {
	made, err := s.makeHooks(ctx, engine, "hostile", hookPlan{hooks: 4, filter: filterMisses, history: pastRows + 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.dropDatabase(ctx, made.db)) }()
	s.progress.stepf("%s: fill with malice", engine)
	filled, err := s.fillHostile(ctx, made.db)
	if err != nil {
		return fmt.Errorf("fill with malice: %w", err)
	}
	if err := s.lookAround(ctx, made, &filled); err != nil {
		return fmt.Errorf("look around: %w", err)
	}
	var costs []hostileCost
	for _, path := range filled.paths() {
		s.progress.stepf("%s: %s", engine, filled.short(path))
		cost, err := s.hostileCost(ctx, engine, made, filled.cookie, path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		costs = append(costs, cost)
		cost.Path = filled.short(path)
		s.report.add(row{
			ID: "B17", What: cost.Path, Engine: engine, Measured: inMillis(cost.Processor), Verdict: judge(cost.Processor <= hostileProcessor && cost.Memory <= hostileMemory),
			Bar:    fmt.Sprintf("≤ %s of processor time and %s", inMillis(hostileProcessor), inMegabytes(hostileMemory)),
			Note:   fmt.Sprintf("%s of memory, %s of answer, status %d", inMegabytes(cost.Memory), inMegabytes(cost.Answer), cost.Status),
			Detail: cost,
		})
	}
	return s.hostileTogether(ctx, engine, made, filled.cookie, costs)
}

// hostileCost is what one request cost the server.
type hostileCost struct {
	Path      string        `json:"path"`
	Status    int           `json:"status"`
	Answer    int64         `json:"answer_bytes"`
	Processor time.Duration `json:"processor"`
	// Memory is how much more the server held than before.
	Memory int64 `json:"memory_bytes"`
}

// hostileCost asks once. The server is new each time: what it held for the previous request
// would hide what it needs for this one.
func (s *session) hostileCost(ctx context.Context, engine string, made *hooked, cookie, path string) (cost hostileCost, err error) {
	srv, err := s.startHooked(ctx, made, "hostile-"+engine+fileName(path))
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	cost.Path = path
	if _, _, err := hostileGet(ctx, srv, adminKey, cookie, "/api/v1/whoami"); err != nil { // what is made once
		return cost, err
	}
	pid := srv.cmd.Process.Pid
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return cost, fmt.Errorf("forget the peak: %w", err)
	}
	held, err := residentBytes(pid)
	if err != nil {
		return cost, err
	}
	before, err := usageOf(pid)
	if err != nil {
		return cost, err
	}
	if cost.Status, cost.Answer, err = hostileGet(ctx, srv, adminKey, cookie, path); err != nil {
		return cost, err
	}
	after, err := usageOf(pid)
	if err != nil {
		return cost, err
	}
	peak, err := peakBytes(pid)
	cost.Processor, cost.Memory = after.processor-before.processor, max(0, peak-held)
	return cost, err
}

// hostileGet asks with a key, and for pages with a session, and throws the answer away.
func hostileGet(ctx context.Context, srv *server, key, cookie, path string) (status int, size int64, err error) {
	request, err := hostileRequest(ctx, srv.url, path)
	if err != nil {
		return 0, 0, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Cookie", cookie)
	answer, err := (&http.Client{}).Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	size, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, size, err
}

// hostileTogether measures deliveries alone, and then alongside many readers.
func (s *session) hostileTogether(ctx context.Context, engine string, made *hooked, cookie string, costs []hostileCost) (err error) {
	s.progress.stepf("%s: %d readers at once", engine, hostileReaders)
	srv, err := s.startHooked(ctx, made, "hostile-"+engine+"-together")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	keys, err := hostileKeys(ctx, srv)
	if err != nil {
		return err
	}
	order := hitOrder{Targets: made.targets, Body: issueBody()}
	quiet, err := s.hit(ctx, srv, []int{16}, order)
	if err != nil {
		return err
	}
	// The readers share the machine: they must not take it from what is measured.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	reading, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	for i := range hostileReaders {
		readers.Go(func() {
			for n := i; reading.Err() == nil; n++ {
				_, _, _ = hostileGet(reading, srv, keys[i/hostilePerKey], cookie, costs[n%len(costs)].Path) // a refusal is also an answer
			}
		})
	}
	beside, err := s.hit(ctx, srv, []int{16}, order)
	stop()
	readers.Wait()
	if err != nil {
		return err
	}
	peak, err := peakBytes(srv.cmd.Process.Pid)
	if err != nil {
		return err
	}
	s.report.add(row{
		ID: "B17", What: fmt.Sprintf("memory with %d readers at once", hostileReaders), Engine: engine, Measured: inMegabytes(peak),
		Bar: fmt.Sprintf("≤ %s", inMegabytes(hostileTogether)), Verdict: judge(peak <= hostileTogether),
	})
	slower := ratio(float64(beside[0].P99), float64(quiet[0].P99))
	s.report.add(row{
		ID: "B17", What: "ingress beside them, p99", Engine: engine, Measured: inMillis(beside[0].P99), Anchor: inMillis(quiet[0].P99), AnchorName: "alone",
		Ratio: slower, Bar: fmt.Sprintf("≤ %d × alone", hostileSlower), Verdict: judge(slower <= hostileSlower), Detail: []hitFound{quiet[0], beside[0]},
	})
	return nil
}

// hostileKeys makes the keys of the readers: they may only look.
func hostileKeys(ctx context.Context, srv *server) (keys []string, err error) {
	admin, err := newClient(srv.url)
	if err != nil {
		return nil, err
	}
	for i := range hostileReaders/hostilePerKey + 1 {
		made, err := admin.APIKeys.Create(ctx, client.APIKeyRequest{Name: fmt.Sprintf("reader-%d", i), Role: "viewer"})
		if err != nil {
			return nil, fmt.Errorf("make key: %w", err)
		}
		keys = append(keys, made.Key)
	}
	return keys, nil
}

// lookAround finds what else there is to read, and signs in.
func (s *session) lookAround(ctx context.Context, made *hooked, filled *hostileFill) (err error) {
	srv, err := s.startLogged(ctx, made.db.url, made.dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	admin, err := newClient(srv.url)
	if err != nil {
		return err
	}
	for factory, err := range admin.Factories.All(ctx, client.FactoryQuery{}) {
		if err != nil {
			return err
		}
		filled.factory = factory.UID
	}
	hooks, err := admin.Webhooks.List(ctx, filled.factory)
	if err != nil || len(hooks) == 0 {
		return fmt.Errorf("list webhooks: %d, %w", len(hooks), err)
	}
	filled.webhook = hooks[0].UID
	caller := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.url+"/login", strings.NewReader(url.Values{"key": {adminKey}}.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := caller.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // nothing in it counts
	cookies := answer.Cookies()
	if len(cookies) == 0 {
		return fmt.Errorf("sign in: %s", answer.Status)
	}
	filled.cookie = cookies[0].Name + "=" + cookies[0].Value
	return awaitLists(ctx, made.db)
}

// hostileFill is what was filled in, and how its readers get there.
type hostileFill struct{ loud, busy, long, factory, webhook, cookie string }

// paths are the most expensive requests of each route that a viewer has.
func (f hostileFill) paths() []string {
	run := func(id, rest string) string { return "/api/v1/agent/runs/" + id + rest }
	factory := func(rest string) string { return "/api/v1/factory/" + f.factory + rest }
	return []string{
		"/api/v1/agent/runs", "/api/v1/agent/runs?limit=500", "/api/v1/agent/runs?limit=500&sort_by=title", "/api/v1/agent/runs?limit=500&sort_by=agent",
		"/api/v1/agent/runs?limit=500&q=malice", "/api/v1/agent/tasks?limit=500",
		run(f.long, ""), run(f.long, "?explain=1"), run(f.loud, "/events"), run(f.loud, "/events?limit=5000"), run(f.busy, "/events?limit=5000"),
		run(f.loud, "/conversation"), run(f.busy, "/conversation"), run(f.loud, "/timeline"), run(f.busy, "/timeline"),
		run(f.loud, "/transcript"), run(f.busy, "/transcript"), run(f.loud, "/handoff/attachments"), "/api/v1/agent/conversations/" + f.loud,
		"/api/v1/agent", "/api/v1/agent/models", "/api/v1/agent/identities", "/api/v1/agent/environments", "/api/v1/agent/schedules",
		"/api/v1/agent/connected-self-hosted-workers", "/api/v1/factory?limit=100", factory(""), factory("/webhooks?limit=500"), factory("/automations?limit=500"),
		factory("/webhooks/" + f.webhook + "/deliveries?limit=500"), factory("/definition"), factory("/definition/revisions?limit=500"),
		"/api/v1/notifications", "/api/v1/audit?limit=500", "/api/v1/openapi.json", "/api/v1/docs",
		"/", "/runs", "/runs?q=malice", "/runs/" + f.long, "/runs/" + f.loud, "/runs/" + f.busy, "/search?q=malice", "/agents", "/automations", "/factories", "/factories/" + f.factory,
		"/environments", "/schedules", "/webhooks", "/audit", "/runs/" + f.loud + "/outline", "/runs/" + f.busy + "/outline", "/runs?error=run_timeout", "/runs/export",
		"/runs/" + f.loud + "/find?q=xxxxxxxxxxxxxxxy", "/runs/" + f.loud + "/find?only=errors", "/runs/" + f.busy + "/find?q=zebra", "/runs/" + f.busy + "/find?only=errors",
		"/runs/" + f.loud + "/time", "/runs/" + f.busy + "/time", "/runs/" + f.loud + "/changes", "/runs/" + f.busy + "/changes",
		hostileTool("list_factories", `{"limit":100}`), hostileTool("list_agents", `{}`), hostileTool("list_runs", `{"limit":100}`),
		hostileTool("list_automations", `{"limit":100,"factory":"`+f.factory+`"}`),
		hostileTool("list_webhooks", `{"factory":"`+f.factory+`"}`),
		hostileTool("list_deliveries", `{"limit":100,"factory":"`+f.factory+`","webhook":"`+f.webhook+`"}`),
		hostileTool("get_run", `{"messages":20,"run_id":"`+f.long+`"}`), hostileTool("get_run", `{"messages":20,"run_id":"`+f.loud+`"}`),
		hostileTool("wait_for_run", `{"seconds":1,"messages":20,"run_id":"`+f.busy+`"}`),
		hostileTool("get_run_events", `{"limit":200,"run_id":"`+f.loud+`"}`),
		hostileTool("get_run_events", `{"limit":200,"run_id":"`+f.busy+`"}`),
		hostileTool("test_filter", `{"factory":"`+f.factory+`","filter":{"payload":{"a":["b"]}},"payload":{"a":"c"}}`),
	}
}

// mcpPath is where tools are called; in a list of paths the call follows.
const mcpPath = "/api/v1/mcp#"

// hostileTool is the call of an MCP tool among the paths.
func hostileTool(name, arguments string) string { return mcpPath + name + " " + arguments }

// hostileRequest asks for a path, or calls a tool.
func hostileRequest(ctx context.Context, server, path string) (*http.Request, error) {
	call, isTool := strings.CutPrefix(path, mcpPath)
	if !isTool {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+path, http.NoBody)
		if err == nil && strings.Contains(path, "/find?") {
			request.Header.Set("Accept", "application/json") // one part of the log with each request
		}
		return request, err
	}
	name, arguments, _ := strings.Cut(call, " ")
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server+strings.TrimSuffix(mcpPath, "#"), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	return request, nil
}

// fileName makes of a path what a file may be called.
func fileName(path string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, path)
	return name[:min(len(name), 150)]
}

// short is a path without the ids, for the table.
func (f hostileFill) short(path string) string {
	return strings.NewReplacer("/api/v1", "", f.loud, "{loud}", f.busy, "{busy}", f.long, "{long}", f.factory, "{factory}", f.webhook, "{webhook}").Replace(path)
}
