package overview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func TestI2NoticesSayWhereToGo(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	for _, test := range []struct {
		of               overview.Attention
		what, href, text string
	}{
		{overview.Attention{Kind: overview.AttentionBlocked, ID: "r"}, "Waiting for your answer", "/runs/r", "Answer it"},
		{overview.Attention{Kind: overview.AttentionBlocked, ID: "r", Reason: "May I?"}, "Waiting for your answer", "/runs/r", "May I?"},
		{overview.Attention{Kind: overview.AttentionWorker, ID: "mac", Count: 1}, "No worker", "/workers", "A run waits for it. Start it with lineshaft worker --id mac."},
		{overview.Attention{Kind: overview.AttentionWorker, ID: lineshaft.HostedWorker, Count: 1200}, "No worker", "/workers", "1,200 runs wait for it. The server's own"},
		{overview.Attention{Kind: overview.AttentionQueue, ID: "r", Count: 1}, "Old queue", "/runs/r", "waited long"},
		{overview.Attention{Kind: overview.AttentionQueue, ID: "r", Count: 7}, "Old queue", "/runs/r", "7 runs"},
		{overview.Attention{Kind: overview.AttentionSecret, ID: "w", FactoryUID: "f"}, "Webhook", "/factories/f/webhooks/w", "secret"},
		{overview.Attention{Kind: overview.AttentionRefused, ID: "w", FactoryUID: "f", Count: 1, Reason: "rejected_too_large"}, "Webhook", "/factories/f/webhooks/w", "a delivery in the last hour: the body was too large"},
		{overview.Attention{Kind: overview.AttentionRefused, ID: "w", FactoryUID: "f", Count: 3, Reason: "rejected_auth"}, "Webhook", "/factories/f/webhooks/w", "3 deliveries"},
		{overview.Attention{Kind: overview.AttentionRepository, ID: "f", Reason: "away"}, "Factory", "/factories/f", "cannot be read: away"},
		{overview.Attention{Kind: overview.AttentionRepository, ID: "f", Reason: "a:1: b", Count: 2}, "Factory", "/factories/f", "not applied: a:1: b"},
		{overview.Attention{Kind: overview.AttentionSchedule, ID: "s", Reason: "gone"}, "Schedule", "/schedules/s", "gone"},
		{overview.Attention{Kind: overview.AttentionLate, Reason: "a transaction has not ended"}, "Callbacks", "/notifications", "a transaction has not ended."},
		{overview.Attention{Kind: overview.AttentionCallback, ID: "n", Reason: "it answered 410 Gone"}, "Notification", "/notifications/n", "it answered 410 Gone. Fix"},
		{overview.Attention{Kind: overview.AttentionFailed, ID: "r", State: lineshaft.Failed, Reason: "x"}, "Failed", "/runs/r", "x"},
		{overview.Attention{Kind: overview.AttentionFailed, ID: "r", State: lineshaft.Errored}, "Error", "/runs/r", ""},
	} {
		test.of.At, test.of.Name = at, "name"
		for _, more := range []bool{false, true} {
			test.of.More = more
			got := notices(&overview.Overview{Attention: []overview.Attention{test.of}})[0]
			if test.of.Kind == overview.AttentionRefused && got.Kind != "warn" {
				t.Errorf("what strangers send is %q", got.Kind)
			}
			if got.Icon == "" || got.Icon == "warning" {
				t.Errorf("%+v has the picture %q", test.of, got.Icon)
			}
			if got.What != test.what || got.Href != test.href || !strings.Contains(got.Text, test.text) || got.Name != "name" || !got.At.Equal(at) || got.Kind == "" {
				t.Errorf("%+v: %+v", test.of, got)
			}
			if (got.MoreHref != "") != (more && test.of.Kind != overview.AttentionQueue) {
				t.Errorf("%+v: more at %q", test.of, got.MoreHref)
			}
		}
	}
}

// Runs that failed for one reason are one line, however many others failed between them.
func TestI2NoticesOfOneCauseAreOne(t *testing.T) {
	t.Parallel()
	failed := func(id, name, reason string, minute int) overview.Attention {
		at := time.Unix(1_800_000_000-int64(60*minute), 0)
		return overview.Attention{Kind: overview.AttentionFailed, ID: id, Name: name, Reason: reason, State: lineshaft.Failed, At: at}
	}
	list := []overview.Attention{
		{Kind: overview.AttentionBlocked, ID: "q", Name: "a"},
		failed("1", "a", "out of time", 0), failed("2", "b", "no disk", 1), failed("3", "a", "out of time", 2), failed("4", "b", "no net", 3), failed("5", "b", "no disk", 4),
	}
	list[len(list)-1].More = true
	var got []string
	for _, n := range notices(&overview.Overview{Attention: list}) {
		got = append(got, fmt.Sprintf("%s %s %d %s", n.ID, n.Name, n.Times, n.MoreHref))
	}
	want := "see-blocked-q a 1 |see-failed-1 a 2 |see-failed-2 b 2 |see-failed-4 b 1 /runs?state=FAILED&state=ERROR"
	if strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
}

func TestReasonsHaveWords(t *testing.T) {
	t.Parallel()
	view := &overview.Overview{}
	for _, code := range lineshaft.Codes() {
		view.Reasons = append(view.Reasons, overview.Reason{Code: code, Count: 2})
	}
	rows := reasonRows(view)
	if len(rows) != mostReasons+1 || rows[mostReasons].Name != "Other reasons" || rows[mostReasons].Count != page.Count(2*(len(view.Reasons)-mostReasons)) ||
		!strings.HasSuffix(rows[0].Href, "&error=invalid_request") || strings.Contains(rows[mostReasons].Href, "error=") {
		t.Errorf("%+v", rows)
	}
	for _, code := range []lineshaft.Code{"", lineshaft.CodeAgentProcessFailed, lineshaft.CodeRunTimeout, lineshaft.CodeInfrastructureTimeout, lineshaft.CodeEnvironmentSetupFailed, lineshaft.CodeBudgetExceeded} {
		if name := reasonName(code); strings.Contains(name, "_") || name == "" {
			t.Errorf("%q is %q", code, name)
		}
	}
}
