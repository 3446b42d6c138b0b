package web

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
)

func TestI2NoticesSayWhereToGo(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	for _, test := range []struct {
		of               control.Attention
		what, href, text string
	}{
		{control.Attention{Kind: control.AttentionBlocked, ID: "r"}, "Waits for you", "/runs/r", "Answer it"},
		{control.Attention{Kind: control.AttentionBlocked, ID: "r", Reason: "May I?"}, "Waits for you", "/runs/r", "May I?"},
		{control.Attention{Kind: control.AttentionWorker, ID: "mac", Count: 1}, "No worker", "/workers", "A run waits for it. Start it with lineshaft worker --id mac."},
		{control.Attention{Kind: control.AttentionWorker, ID: lineshaft.HostedWorker, Count: 1200}, "No worker", "/workers", "1\u202f200 runs wait for it. The server's own"},
		{control.Attention{Kind: control.AttentionQueue, ID: "r", Count: 1}, "Old queue", "/runs/r", "waited long"},
		{control.Attention{Kind: control.AttentionQueue, ID: "r", Count: 7}, "Old queue", "/runs/r", "7 runs"},
		{control.Attention{Kind: control.AttentionSecret, ID: "w", FactoryUID: "f"}, "Webhook", "/factories/f/webhooks/w", "secret"},
		{control.Attention{Kind: control.AttentionRefused, ID: "w", FactoryUID: "f", Count: 1, Reason: "rejected_too_large"}, "Webhook", "/factories/f/webhooks/w", "a delivery in the last hour: the body was too large"},
		{control.Attention{Kind: control.AttentionRefused, ID: "w", FactoryUID: "f", Count: 3, Reason: "rejected_auth"}, "Webhook", "/factories/f/webhooks/w", "3 deliveries"},
		{control.Attention{Kind: control.AttentionRepository, ID: "f", Reason: "away"}, "Factory", "/factories/f", "cannot be read: away"},
		{control.Attention{Kind: control.AttentionRepository, ID: "f", Reason: "a:1: b", Count: 2}, "Factory", "/factories/f", "not in force: a:1: b"},
		{control.Attention{Kind: control.AttentionSchedule, ID: "s", Reason: "gone"}, "Schedule", "/schedules/s", "gone"},
		{control.Attention{Kind: control.AttentionLate, Reason: "a transaction has not ended"}, "Callbacks", "/notifications", "a transaction has not ended."},
		{control.Attention{Kind: control.AttentionCallback, ID: "n", Reason: "it answered 410 Gone"}, "Notification", "/notifications/n", "it answered 410 Gone. Mend"},
		{control.Attention{Kind: control.AttentionFailed, ID: "r", State: lineshaft.Failed, Reason: "x"}, "Failed", "/runs/r", "x"},
		{control.Attention{Kind: control.AttentionFailed, ID: "r", State: lineshaft.Errored}, "Error", "/runs/r", ""},
	} {
		test.of.At, test.of.Name = at, "name"
		for _, more := range []bool{false, true} {
			test.of.More = more
			got := notices(&control.Overview{Attention: []control.Attention{test.of}})[0]
			if got.What != test.what || got.Href != test.href || !strings.Contains(got.Text, test.text) || got.Name != "name" || !got.At.Equal(at) || got.Kind == "" {
				t.Errorf("%+v: %+v", test.of, got)
			}
			if (got.MoreHref != "") != (more && test.of.Kind != control.AttentionQueue) {
				t.Errorf("%+v: more at %q", test.of, got.MoreHref)
			}
		}
	}
}

func TestReasonsHaveWords(t *testing.T) {
	t.Parallel()
	view := &control.Overview{}
	for _, code := range lineshaft.Codes() {
		view.Reasons = append(view.Reasons, control.Reason{Code: code, Count: 2})
	}
	rows := reasonRows(view)
	if len(rows) != mostReasons+1 || rows[mostReasons].Name != "Other reasons" || rows[mostReasons].Count != count(2*(len(view.Reasons)-mostReasons)) {
		t.Errorf("%+v", rows)
	}
	for _, code := range []lineshaft.Code{"", lineshaft.CodeAgentProcessFailed, lineshaft.CodeRunTimeout, lineshaft.CodeInfrastructureTimeout, lineshaft.CodeEnvironmentSetupFailed, lineshaft.CodeBudgetExceeded} {
		if name := reasonName(code); strings.Contains(name, "_") || name == "" {
			t.Errorf("%q is %q", code, name)
		}
	}
}
