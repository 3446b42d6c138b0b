package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

const (
	notificationOne = "01980f14-4455-7667-8889-aabbccddee01"
	notificationTwo = "01980f14-4455-7667-8889-aabbccddee02"

	goodNotification = `{"id":"` + notificationOne + `","name":"example.com","url":"https://example.com/hook","description":"for the team","states":["FAILED","ERROR"],
		"factory_uids":["` + factoryTwo + `"],"run_name":"nightly","enabled":true,"last_success_at":"2026-01-02T03:00:00.000000Z",
		"created_at":"2026-01-01T04:00:00.000000Z","updated_at":"2026-01-02T03:00:00.000000Z"}`
	goneNotification = `{"id":"` + notificationTwo + `","name":"old\u001b[31m","url":"https://old.example/x","description":"","states":[],"factory_uids":[],"run_name":"",
		"enabled":false,"disabled_reason":"nothing was delivered for 72 hours","disabled_at":"2026-01-02T01:00:00.000000Z","last_failure_at":"2026-01-02T01:00:00.000000Z",
		"created_at":"2026-01-01T04:00:00.000000Z","updated_at":"2026-01-02T03:00:00.000000Z"}`
	goodDelivery = `{"id":"d-1","notification_id":"` + notificationOne + `","event_id":"e-1","type":"run.state_changed","run_id":"run-1","state":"FAILED","status":"delivered",
		"attempt_count":2,"created_at":"2026-01-02T03:00:00.000000Z","finished_at":"2026-01-02T03:01:00.000000Z"}`
	waitingDelivery = `{"id":"d-2","notification_id":"` + notificationOne + `","event_id":"e-2","type":"notification.test","status":"pending","attempt_count":1,
		"last_error":"no answer within 15 s","next_attempt_at":"2026-01-02T04:05:00.000000Z","created_at":"2026-01-02T03:59:00.000000Z"}`
)

func (s *stage) notifications() *stage {
	base := "/api/v1/notifications"
	issued := strings.Replace(goodNotification, `"enabled":true`, `"enabled":true,"secret":"whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ=","old_secret_until":"2026-01-03T04:00:00.000000Z"`, 1)
	detail := strings.Replace(goodDelivery, `"attempt_count":2`, `"attempt_count":2,"payload":{"type":"run.state_changed"},"attempts":[
		{"number":1,"time":"2026-01-02T03:00:00.000000Z","error":"the connection was refused","duration_ms":3},
		{"number":2,"time":"2026-01-02T03:01:00.000000Z","status_code":204,"duration_ms":41}]`, 1)
	s.answer("GET "+base, 200, `{"notifications":[`+goodNotification+`,`+goneNotification+`],"page_info":{"has_next_page":false}}`)
	s.answer("POST "+base, 201, issued)
	s.answer("GET "+base+"/"+notificationOne, 200, goodNotification)
	s.answer("GET "+base+"/"+notificationTwo, 200, goneNotification)
	s.answer("PATCH "+base+"/{id}", 200, goodNotification)
	s.answer("DELETE "+base+"/{id}", 204, "")
	s.answer("POST "+base+"/{id}/rotate", 200, issued)
	s.answer("POST "+base+"/{id}/test", 202, waitingDelivery)
	s.answer("GET "+base+"/{id}/deliveries", 200, `{"deliveries":[`+waitingDelivery+`,`+goodDelivery+`],"page_info":{"has_next_page":true,"next_cursor":"c2"}}`)
	s.answer("GET "+base+"/{id}/deliveries/d-1", 200, detail)
	s.answer("POST "+base+"/{id}/deliveries/d-1/replay", 202, waitingDelivery)
	return s
}

func TestI1NotificationGolden(t *testing.T) {
	t.Parallel()
	for _, tc := range []goldenCase{
		{"notification-list", []string{"notification", "list"}},
		{"notification-list-ndjson", []string{"notification", "list", "-o", "ndjson"}},
		{"notification-get", []string{"notification", "get", "example.com"}},
		{"notification-get-gone", []string{"notification", "get", notificationTwo}},
		{"notification-create", []string{"notification", "create", "https://example.com/hook", "--state", "failed"}},
		{"notification-create-json", []string{"notification", "create", "https://example.com/hook", "-o", "json"}},
		{"notification-update", []string{"notification", "update", "example.com", "--state", ""}},
		{"notification-rotate", []string{"notification", "rotate", "example.com", "--overlap", "24h"}},
		{"notification-disable", []string{"notification", "disable", "example.com", "nobody"}},
		{"notification-enable", []string{"notification", "enable", notificationTwo}},
		{"notification-delete", []string{"notification", "delete", "example.com"}},
		{"notification-test", []string{"notification", "test", "example.com"}},
		{"notification-deliveries", []string{"notification", "deliveries", "example.com"}},
		{"notification-deliveries-json", []string{"notification", "deliveries", "example.com", "-o", "json"}},
		{"notification-delivery", []string{"notification", "deliveries", "example.com", "d-1"}},
		{"notification-replay", []string{"notification", "replay", "example.com", "d-1", "d-9"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for _, width := range []int{0, 80} {
				s := newStage(t).notifications()
				s.terminal(width)
				r := s.run(t.Context(), tc.args...)
				fmt.Fprintf(&text, "$ lineshaft %s   (%s)\n[exit %d]\n[stdout]\n%s[stderr]\n%s\n", strings.Join(tc.args, " "), kindOf(width), r.code, r.out, r.err)
			}
			golden(t, tc.name, strings.ReplaceAll(text.String(), "\x1b", "<ESC>"))
		})
	}
}

// What is not given stays; what is given empty goes.
func TestI1NotificationRequests(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ line, want string }{
		{
			"create https://h/x --name n --description d --state failed --state in_progress --run-name r --factory " + factoryTwo,
			`{"url":"https://h/x","name":"n","description":"d","states":["FAILED","INPROGRESS"],"factory_uids":["` + factoryTwo + `"],"run_name":"r"}`,
		},
		{"create https://h/x --secret-file -", `{"url":"https://h/x","secret":"from a pipe"}`},
		{"update example.com --to https://h/y", `{"url":"https://h/y"}`},
		{"update example.com --name= --factory= --state=", `{"name":"","states":[],"all_factories":true}`},
		{"update example.com --run-name r --state error", `{"states":["ERROR"],"run_name":"r"}`},
		{"rotate example.com --overlap 1h", `{"overlap_seconds":3600}`},
		{"enable example.com", `{"enabled":true}`},
		{"disable example.com", `{"enabled":false}`},
	} {
		s := newStage(t).notifications()
		s.deps.Stdin = strings.NewReader("from a pipe\n")
		r := s.run(t.Context(), append([]string{"notification"}, strings.Fields(tc.line)...)...)
		requests := s.requests()
		if r.code != shell.ExitOK || len(requests) == 0 || requests[len(requests)-1].body != tc.want {
			t.Errorf("%s: %+v\nsent %+v\nwant %s", tc.line, r, requests, tc.want)
		}
	}
}

// The whole log is walked page by page.
func TestI1NotificationDeliveriesAll(t *testing.T) {
	t.Parallel()
	s := newStage(t).notifications()
	r := s.run(t.Context(), "notification", "deliveries", "example.com", "--all", "--limit", "2", "-o", "ndjson")
	// The scripted server says "more" for ever with one cursor, which must not be believed.
	if r.code != shell.ExitFailed || strings.Count(r.out, "\n") > 4 {
		t.Errorf("exit %d, %d lines: %s", r.code, strings.Count(r.out, "\n"), r.err)
	}
}

func TestI1NotificationMistakes(t *testing.T) {
	t.Parallel()
	for _, m := range []mistake{
		{"no url", "notification create", "needs the URL", "lineshaft notification create URL"},
		{"bad state", "notification create https://h --state faild", `--state "faild" is not a state`, "Did you mean failed?"},
		{"nothing to change", "notification update x", "nothing to change", "--state failed"},
		{"bad change", "notification update x --state faild", "is not a state", "Did you mean failed?"},
		{"bad overlap", "notification rotate x --overlap soon", "--overlap soon is not a time", "--overlap 30m"},
		{"long overlap", "notification rotate x --overlap 9d", "more than 3d", "three days"},
		{"bad status", "notification deliveries x --status lost", `--status "lost" is not known`, "pending, delivered, failed"},
		{"limit", "notification deliveries x --limit 0", "not between 1 and 500", "--all"},
		{"replay what", "notification replay x", "needs a notification and the ids", "replay NOTIFICATION DELIVERY_ID"},
		{"unknown", "notification lsit", `"lsit" is not a command`, "Did you mean"},
	} {
		t.Run(m.name, func(t *testing.T) { t.Parallel(); m.check(t) })
	}
}

func TestI1NotificationNames(t *testing.T) {
	t.Parallel()
	misspelt := newStage(t).notifications()
	if r := misspelt.run(t.Context(), "notification", "get", "exmple.com"); r.code != shell.ExitNotFound || !strings.Contains(r.err, "Did you mean example.com?") {
		t.Errorf("misspelt: %+v", r)
	}
	s := newStage(t)
	s.answer("GET /api/v1/notifications", 200, `{"notifications":[`+goodNotification+`,`+strings.Replace(goodNotification, notificationOne, notificationTwo, 1)+`]}`)
	if r := s.run(t.Context(), "notification", "get", "example.com"); r.code != shell.ExitUsage || !strings.Contains(r.err, notificationTwo) {
		t.Errorf("two of one name: %+v", r)
	}
	if r := s.run(t.Context(), "notification", "get", "nobody"); r.code != shell.ExitNotFound || !strings.Contains(r.err, "notification list") {
		t.Errorf("none of a name: %+v", r)
	}
}

// TestI1StatesWithCommas: both ways to give several, for runs and for endpoints.
func TestI1StatesWithCommas(t *testing.T) {
	t.Parallel()
	s := newStage(t).library()
	s.answer("POST /api/v1/notifications", 201, `{"id":"n-1","name":"x","url":"https://x.example","enabled":true}`)
	if r := s.run(t.Context(), "notification", "create", "https://x.example", "--state", "failed, Error", "--state", "succeeded"); r.code != shell.ExitOK {
		t.Fatalf("%+v", r)
	}
	if body := s.requests()[0].body; !strings.Contains(body, `"states":["FAILED","ERROR","SUCCEEDED"]`) {
		t.Errorf("sent %s", body)
	}
	if r := s.run(t.Context(), "runs", "list", "--state", "failed,blocked"); r.code != shell.ExitOK {
		t.Fatalf("%+v", r)
	}
	if query := s.requests()[1].query; !strings.Contains(query, "state=FAILED&state=BLOCKED") {
		t.Errorf("asked for %s", query)
	}
	for _, wrong := range []string{"failed,", ",", "failed,faled"} {
		if r := s.run(t.Context(), "runs", "list", "--state", wrong); r.code != shell.ExitUsage || !strings.Contains(r.err, "is not a state") {
			t.Errorf("%s: %+v", wrong, r)
		}
	}
}

// TestI1NotificationTimesHaveOneForm: in a pipe the whole time, on a terminal the age.
func TestI1NotificationTimesHaveOneForm(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.answer("GET /api/v1/notifications/"+factoryOne, 200, `{"id":"`+factoryOne+`","name":"x","url":"https://x.example","enabled":true,"created_at":"2026-01-02T03:00:00.000000Z","last_failure_at":"2026-01-02T03:30:00.000000Z"}`)
	s.answer("POST /api/v1/notifications/"+factoryOne+"/test", 202, `{"id":"d-1","type":"notification.test","status":"pending","next_attempt_at":"2026-01-02T04:05:00.000000Z","created_at":"2026-01-02T04:00:00.000000Z"}`)
	if r := s.run(t.Context(), "notification", "get", factoryOne); r.code != shell.ExitOK || !strings.Contains(r.out, "2026-01-02T03:30:00Z") || strings.Contains(r.out, "UTC") {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "notification", "test", factoryOne); r.code != shell.ExitOK || !strings.Contains(r.out, "2026-01-02T04:05:00Z") || strings.Contains(r.out, "UTC") {
		t.Errorf("%+v", r)
	}
	s.terminal(100)
	if r := s.run(t.Context(), "notification", "test", factoryOne); r.code != shell.ExitOK || !strings.Contains(r.out, "in 5m") || strings.Contains(r.out, "2026") {
		t.Errorf("%+v", r)
	}
}
