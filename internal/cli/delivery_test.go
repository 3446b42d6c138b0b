package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// delivered is hooked with a log: d3 is a duplicate, d2 was refused, d1 started a
// run, d0 was delivered again.
func delivered(t *testing.T) *stage {
	t.Helper()
	s := hooked(t)
	row := func(id, status, rest string) string {
		return fmt.Sprintf(`{"delivery_id":%q,"status":%q,"size":12,"received_at":"2026-01-02T03:58:00.000000Z","identity":"i\u001b[31m","identity_source":"header X-Id","remote_addr":"192.0.2.1",%s}`, id, status, rest)
	}
	started := `"not_matched":1,"outcomes":[{"automation_id":"a1","automation_name":"triage","result":"started","run_id":"run-1"}]`
	rows := []string{
		row("d4", "accepted", `"not_matched":0,"outcomes":[{"result":"handshake"}]`),
		row("d3", "duplicate", `"duplicate_of":"d1","not_matched":0,"outcomes":[]`), row("d2", "rejected_auth", `"not_matched":0,"outcomes":[]`),
		row("d1", "accepted", started), row("d0b", "accepted", `"redelivery_of":"d0","not_matched":2,"outcomes":[]`), row("d0", "accepted", `"not_matched":0,"outcomes":[]`),
	}
	s.mux.HandleFunc("GET /api/v1/factory/f1/webhooks/{uid}/deliveries", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") == "" {
			fmt.Fprintf(w, `{"deliveries":[%s],"page_info":{"has_next_page":true,"next_cursor":"cur-2"}}`, strings.Join(rows[:4], ","))
			return
		}
		fmt.Fprintf(w, `{"deliveries":[%s],"page_info":{"has_next_page":false}}`, strings.Join(rows[4:], ","))
	})
	s.answer("GET /api/v1/factory/f1/webhooks/{uid}/deliveries/d1", 200, row("d1", "accepted", started+`,"payload":{"action":"opened\u001b[2J","n":12345678901234567890123},`+
		`"not_matched_automations":[{"automation_id":"a2","automation_name":"close","checks":[{"trigger":0,"path":"payload.action","operator":"in","expected":["closed"],"seen":"opened","passed":false}]}]`))
	s.mux.HandleFunc("POST /api/v1/factory/f1/webhooks/{uid}/deliveries/{id}/redeliver", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == "d3" {
			problem(409, "conflict", "delivery d3 is a duplicate")(w, r)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"delivery_id":"new-%s","outcomes":[{"automation_name":"triage","result":"started","run_id":"run-9"},{"automation_name":"close","result":"filtered","reason":"payload.action must be one of [\"closed\"]"}]}`, r.PathValue("id"))
	})
	s.mux.HandleFunc("GET /api/v1/factory/f1/deliveries", func(w http.ResponseWriter, r *http.Request) {
		row := strings.TrimSuffix(rows[map[bool]int{true: 3, false: 5}[r.URL.Query().Get("cursor") == ""]], "}") + `,"webhook_id":"w1","webhook_name":"ci\u001b[2J","event":"issues"}`
		next := map[bool]string{true: `true,"next_cursor":"cur-2"`, false: "false"}[r.URL.Query().Get("cursor") == ""]
		fmt.Fprintf(w, `{"deliveries":[%s],"page_info":{"has_next_page":%s}}`, row, next)
	})
	s.answer("POST /api/v1/factory/f1/webhooks/{uid}/test", 200, `{"status":202,"delivery_id":"d9"}`)
	s.answer("POST /api/v1/factory/f1/test-filter", 200, `{"would_trigger":false,"checks":[{"path":"webhook","operator":"in","expected":["ci"],"seen":"ci","passed":true},`+
		`{"path":"payload.action","operator":"in","expected":["closed"],"passed":false}]}`)
	return s
}

func TestI1DeliveryGolden(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"delivery-list":          {"webhook", "deliveries", "ci", "--since", "24h"},
		"delivery-log":           {"factory", "deliveries", "shop", "--outcome", "started"},
		"delivery-log-all":       {"factory", "deliveries", "shop", "--all", "-o", "ndjson"},
		"delivery-test":          {"webhook", "test", "ci", "--event", "issues", "--data", `{"a":1}`},
		"delivery-test-json":     {"webhook", "test", "ci", "-o", "json"},
		"delivery-list-all":      {"webhook", "deliveries", "ci", "--all"},
		"delivery-list-ndjson":   {"webhook", "deliveries", "ci", "--all", "-o", "ndjson"},
		"delivery-get":           {"webhook", "deliveries", "ci", "d1", "--explain"},
		"delivery-get-json":      {"webhook", "deliveries", "ci", "d1", "-o", "json"},
		"delivery-again":         {"webhook", "redeliver", "ci", "d1", "d3"},
		"delivery-again-range":   {"webhook", "redeliver", "ci", "--since", "2h", "--until", "1h", "--dry-run"},
		"delivery-again-json":    {"webhook", "redeliver", "ci", "d1", "-o", "json"},
		"delivery-again-ndjson":  {"webhook", "redeliver", "ci", "d1", "d0", "-o", "ndjson"},
		"delivery-filter":        {"webhook", "test-filter", "--webhook", "ci", "--filter", `{"action":["closed"]}`, "--delivery", "d1"},
		"delivery-filter-yaml":   {"webhook", "test-filter", "--filter", `{"action":["closed"]}`, "--payload", "{}", "-o", "yaml"},
		"delivery-filter-wrong":  {"webhook", "test-filter", "--filter", `{"action":`, "--payload", "{}"},
		"delivery-again-nothing": {"webhook", "redeliver", "ci"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for _, width := range []int{0, 100} {
				s := delivered(t)
				s.terminal(width)
				r := s.run(t.Context(), args...)
				fmt.Fprintf(&text, "$ lineshaft %s   (%s)\n[exit %d]\n[stdout]\n%s[stderr]\n%s\n", strings.Join(args, " "), kindOf(width), r.code, r.out, r.err)
			}
			golden(t, name, strings.NewReplacer("\x1b", "<ESC>", "\r", "<CR>").Replace(text.String()))
		})
	}
}

// TestW15RedeliverRange: what can be delivered again is, oldest first, and once.
func TestW15RedeliverRange(t *testing.T) {
	t.Parallel()
	s := delivered(t)
	if r := s.run(t.Context(), "webhook", "redeliver", "ci", "--since", "2h"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	var posted []string
	for _, r := range s.requests() {
		switch {
		case r.method == "POST":
			posted = append(posted, strings.TrimPrefix(r.path, "/api/v1/factory/f1/webhooks/w1/deliveries/")+r.body)
		case strings.HasSuffix(r.path, "/deliveries") && !strings.Contains(r.query, "received_after=2026-01-02T02%3A00%3A00Z"):
			t.Errorf("asked for %s", r.query)
		}
	}
	if got := strings.Join(posted, " "); got != `d0/redeliver{"dry_run":false} d1/redeliver{"dry_run":false}` {
		t.Errorf("posted %s", got)
	}
}

// TestW11LogOfADeletedWebhook: it is not listed any more, but its uid is known.
func TestW11LogOfADeletedWebhook(t *testing.T) {
	t.Parallel()
	s := delivered(t)
	uid := "abcdefghijklmnopqrstuvwxyz0"
	if r := s.run(t.Context(), "webhook", "deliveries", uid); r.code != 0 || !strings.Contains(r.out, "d1") {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "webhook", "deliveries", "nobody"); r.code != shell.ExitNotFound {
		t.Errorf("%+v", r)
	}
	// The server says best why that cannot be.
	s.mux.HandleFunc("POST /api/v1/factory/f1/webhooks/"+uid+"/deliveries/d1/redeliver", problem(409, "conflict", "webhook is deleted: its log can be read"))
	if r := s.run(t.Context(), "webhook", "redeliver", uid, "d1"); r.code != shell.ExitFailed || !strings.Contains(r.err, "its log can be read") {
		t.Errorf("%+v", r)
	}
}

// TestW11EmptyLogs: the text depends on what is in the way.
func TestW11EmptyLogs(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	s.answer("GET /api/v1/factory/f1/webhooks/{uid}/deliveries", 200, `{"deliveries":[],"page_info":{"has_next_page":false}}`)
	for ref, want := range map[string]string{
		"ci": "-- no deliveries; try the webhook: lineshaft webhook send ci --factory shop --secret-file FILE\n",
		"w2": "waits for its provider's secret: lineshaft webhook rotate pay --factory shop --secret-file FILE\n", "abcdefghijklmnopqrstuvwxyz0": "-- no deliveries\n",
	} {
		if r := s.run(t.Context(), "webhook", "deliveries", ref, "--factory", "shop"); r.code != 0 || !strings.Contains(r.err, want) {
			t.Errorf("%s: %+v", ref, r)
		}
	}
	s = newStage(t)
	s.answer("GET /api/v1/factory", 200, factoriesJSON)
	s.answer("GET /api/v1/factory/f1/webhooks", 200, `{"webhooks":[`+hookJSON(`"enabled":true`, `"enabled":false`)+`],"page_info":{"has_next_page":false}}`)
	s.answer("GET /api/v1/factory/f1/webhooks/{uid}/deliveries", 200, `{"deliveries":[],"page_info":{"has_next_page":false}}`)
	if r := s.run(t.Context(), "webhook", "deliveries", "ci"); r.code != 0 || !strings.Contains(r.err, "it is disabled: lineshaft webhook enable ci\n") {
		t.Errorf("%+v", r)
	}
}

// TestW16WebhooksOfNoFilter: without webhooks there is nothing to say about them.
func TestW16WebhooksOfNoFilter(t *testing.T) {
	t.Parallel()
	for checks, want := range map[string]string{
		`{"path":"webhook","operator":"in","expected":[],"seen":"u","passed":true},{"path":"payload.a","operator":"in","expected":[1],"passed":false}`: "CHECK  PATH       OPERATOR  EXPECTED  SEEN\nfail   payload.a  in        [1]       (missing)\n",
		`{"path":"webhook","operator":"in","expected":["ci"],"passed":true}`:                                                                           "CHECK  PATH     OPERATOR  EXPECTED  SEEN\npass   webhook  in        [\"ci\"]    (any)\n",
	} {
		s := hooked(t)
		s.answer("POST /api/v1/factory/f1/test-filter", 200, `{"would_trigger":false,"checks":[`+checks+`]}`)
		if r := s.run(t.Context(), "webhook", "test-filter", "--payload", "{}"); r.code != 0 || r.out != "Would not trigger\n\n"+want {
			t.Errorf("%+v, want %s", r, want)
		}
	}
}

func TestW16FilterRequests(t *testing.T) {
	t.Parallel()
	filter := file(t, "filter.json", `{"a": [1]}`)
	for name, tc := range map[string]struct {
		line string
		want string
	}{
		"files":    {"--filter @" + filter + " --payload -", `{"filter":{"payload":{"a":[1]}},"payload":{"from":"stdin"}}`},
		"delivery": {"--delivery d1 --webhook a --webhook b", `{"filter":{"webhooks":["a","b"]},"delivery_id":"d1"}`},
		"to":       {"--payload 1 --to ci", `{"filter":{},"payload":1,"webhook_id":"w1"}`},
		"trigger": {
			`--trigger {"provider":"github","event":"push","filter":{"paths":["a"],"labels":{"not_in":["b"]}}} --payload 1 --payload-event push`,
			`{"filter":{"labels":{"not_in":["b"]},"paths":{"in":["a"]}},"payload":1,"provider":"github","event":"push","payload_event":"push"}`,
		},
	} {
		s := delivered(t)
		s.deps.Stdin = strings.NewReader(`{"from": "stdin"}`)
		r := s.run(t.Context(), append([]string{"webhook", "test-filter"}, strings.Fields(tc.line)...)...)
		requests := s.requests()
		if last := requests[len(requests)-1]; r.code != 0 || last.body != tc.want || last.path != "/api/v1/factory/f1/test-filter" {
			t.Errorf("%s: %+v\nsent %s %s", name, r, last.path, last.body)
		}
	}
}

func TestI1DeliveryUsage(t *testing.T) {
	t.Parallel()
	s := delivered(t)
	for _, line := range []string{
		"deliveries", "deliveries ci d1 d2", "deliveries ci --limit 0", "deliveries ci --since yesterday", "deliveries ci --since 1h --until 2h", "deliveries ci --explain",
		"redeliver", "redeliver ci d1 --since 1h", "redeliver ci --until 1h", "test-filter", "test-filter --delivery d1 --payload 1", "test-filter --filter - --payload -",
		"test-filter --payload @/no/such/file", "test-filter --payload {", "test-filter extra --payload 1",
		"test-filter --trigger {} --filter {} --payload 1", `test-filter --trigger {"events":"x"} --payload 1`, "test-filter --trigger - --payload -", "test-filter --trigger {} --webhook a --payload 1",
	} {
		if r := s.run(t.Context(), append([]string{"webhook"}, strings.Fields(line)...)...); r.code != shell.ExitUsage || r.err == "" {
			t.Errorf("%s: %+v", line, r)
		}
	}
	for _, r := range s.requests() {
		t.Errorf("sent %s %s", r.method, r.path)
	}
}

// TestW18FiltersOfTheLog: what narrows a log down reaches the server, and words that it cannot know do not.
func TestW18FiltersOfTheLog(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"webhook", "deliveries", "ci"}, {"factory", "deliveries", "shop"}} {
		s := hooked(t)
		asked := make(chan string, 1)
		note := func(w http.ResponseWriter, r *http.Request) {
			asked <- r.URL.Query().Encode()
			fmt.Fprint(w, `{"deliveries":[],"page_info":{"has_next_page":false}}`)
		}
		s.mux.HandleFunc("GET /api/v1/factory/f1/webhooks/{uid}/deliveries", note)
		s.mux.HandleFunc("GET /api/v1/factory/f1/deliveries", note)
		flags := []string{"--status", "accepted,duplicate", "--outcome", "started", "--outcome", "error", "--event", "issues", "--q", "Triage"}
		if r := s.run(t.Context(), append(command, flags...)...); r.code != 0 {
			t.Fatalf("%+v", r)
		}
		if got, want := <-asked, "event=issues&limit=20&outcome=started&outcome=error&q=Triage&status=accepted&status=duplicate"; got != want {
			t.Errorf("%s asked %s, want %s", command[0], got, want)
		}
		for _, wrong := range [][]string{{"--status", "acepted"}, {"--outcome", "begun"}, {"--limit", "0"}} {
			if r := s.run(t.Context(), append(command, wrong...)...); r.code != shell.ExitUsage {
				t.Errorf("%v: %+v", wrong, r)
			}
		}
	}
}

// TestW18RefusedTestEvent: a webhook that refuses what the server signed is a failure.
func TestW18RefusedTestEvent(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	s.answer("POST /api/v1/factory/f1/webhooks/{uid}/test", 200, `{"status":413,"detail":"too large"}`)
	r := s.run(t.Context(), "webhook", "test", "ci")
	if r.code != shell.ExitFailed || !strings.Contains(r.err, "413 too large") || !strings.Contains(r.err, "lineshaft webhook deliveries ci") {
		t.Errorf("%+v", r)
	}
}
