package overview

import (
	"cmp"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// notice is something that needs attention, in words.
type notice struct {
	// ID keeps the focus where it was when the page is refreshed.
	ID, Kind, Icon string
	// What says what kind of thing it is, Name which one.
	What, Name, Href string
	// Where is the factory, Text what is wrong.
	Where, Text string
	At          time.Time
	// Times is how often it happened.
	Times int
	// More leads to others of the kind.
	More, MoreHref string
}

// notices puts what needs attention into words and says where to go.
func notices(view *overview.Overview) []notice {
	type cause struct{ what, name, text string }
	var list []notice
	failed := map[cause]int{}
	for _, a := range view.Attention {
		n := noticeOf(a)
		n.ID, n.Icon, n.Name, n.At, n.Times = "see-"+string(a.Kind)+"-"+a.ID, noticeIcon(a.Kind), a.Name, a.At, 1
		if !a.More {
			n.More, n.MoreHref = "", ""
		}
		if a.Kind == overview.AttentionFailed { // runs of one name that failed for one reason are one thing to look at
			of := cause{n.What, n.Name, n.Text}
			if at, ok := failed[of]; ok {
				list[at].Times++
				last := &list[len(list)-1]
				last.More, last.MoreHref = n.More, n.MoreHref
				continue
			}
			failed[of] = len(list)
		}
		list = append(list, n)
	}
	return list
}

// noticeIcon is the picture of what a notice is about.
func noticeIcon(kind overview.AttentionKind) string {
	switch kind {
	case overview.AttentionBlocked:
		return "thought"
	case overview.AttentionWorker:
		return "workers"
	case overview.AttentionQueue:
		return "schedules"
	case overview.AttentionSecret, overview.AttentionRefused:
		return "webhooks"
	case overview.AttentionSilent:
		return "automations"
	case overview.AttentionRepository:
		return "factories"
	case overview.AttentionSchedule:
		return "schedules"
	case overview.AttentionCallback, overview.AttentionLate:
		return "notifications"
	case overview.AttentionFailed:
		return "cross"
	}
	return "warning"
}

// noticesShown is how many are shown at once; the others unfold.
const noticesShown = 5

// First are the notices before the fold.
func (d overviewData) First() []notice { return d.Notices[:min(len(d.Notices), noticesShown)] }

// Rest are the notices behind the fold.
func (d overviewData) Rest() []notice { return d.Notices[len(d.First()):] }

// certificateNotices report certificates that cannot be got, read or renewed.
func certificateNotices(all []page.Certificate) []notice {
	var list []notice
	for _, c := range all {
		if c.Problem == "" {
			continue
		}
		n := notice{ID: "see-certificate-" + c.Name, Kind: "bad", Icon: "keys", What: "Certificate", Name: c.Name, Href: "/settings/doctor", Text: "There is none yet: " + c.Problem + "."}
		if !c.Until.IsZero() {
			n.Text = fmt.Sprintf("It ends %s: %s.", c.Until.UTC().Format("2006-01-02 15:04 UTC"), c.Problem)
		}
		list = append(list, n)
	}
	return list
}

func noticeOf(a overview.Attention) notice {
	switch a.Kind {
	case overview.AttentionBlocked:
		n := notice{Kind: "warn", What: "Waiting for your answer", Href: page.Under("runs", a.ID)}
		n.Text = cmp.Or(a.Reason, "The agent asked a question. Answer it with a follow-up.")
		n.More, n.MoreHref = "All runs that wait for an answer", "/runs?state=BLOCKED"
		return n
	case overview.AttentionWorker:
		text := fmt.Sprintf(" Start it with lineshaft worker --id %s.", a.ID)
		if a.ID == lineshaft.HostedWorker {
			text = " The server's own worker is off or just starting."
		}
		return notice{Kind: "bad", What: "No worker", Href: "/workers", Text: runsWait(a.Count) + text}.among("workers")
	case overview.AttentionQueue:
		text := "It has waited long for a free worker."
		if a.Count > 1 {
			text = page.Count(a.Count) + " runs have waited more than 5 minutes for a free worker. Add workers, or cancel what is not needed."
		}
		return notice{Kind: "warn", What: "Old queue", Href: page.Under("runs", a.ID), Text: text}
	case overview.AttentionSecret, overview.AttentionRefused:
		n := notice{Kind: "warn", What: "Webhook", Href: page.WebhookAddress(a.FactoryUID, a.ID), Where: a.FactoryName}
		if n.Text = "It accepts no deliveries until its secret is entered."; a.Kind == overview.AttentionRefused {
			n.Text = refusedText(a)
		}
		return n.among("webhooks")
	case overview.AttentionSilent:
		n := notice{Kind: "warn", What: "Automation", Href: page.AutomationAddress(a.FactoryUID, a.ID), Where: a.FactoryName}
		n.Text = "It listens to a webhook that is gone: " + a.Reason + ". Choose another one, or disable it."
		return n.among("automations")
	case overview.AttentionRepository:
		text := "Its repository cannot be read: " + a.Reason
		if a.Count > 0 {
			text = "The newest commit was not applied: " + a.Reason
		}
		return notice{Kind: "bad", What: "Factory", Href: page.FactoryAddress(a.ID), Text: text}.among("factories")
	case overview.AttentionSchedule:
		text := "It could not start a run: " + a.Reason
		return notice{Kind: "bad", What: "Schedule", Href: page.Under("schedules", a.ID), Text: text}.among("schedules")
	case overview.AttentionCallback:
		text := "It no longer gets callbacks: " + a.Reason + ". Fix the receiver, then enable it again."
		return notice{Kind: "bad", What: "Notification", Href: page.Under("notifications", a.ID), Text: text}.among("notifications")
	case overview.AttentionLate:
		text := "They are late, and are sent once this is fixed: " + a.Reason + "."
		return notice{Kind: "warn", What: "Callbacks", Href: "/notifications", Text: text}.among("notifications")
	case overview.AttentionFailed:
		what := "Failed"
		if a.State == lineshaft.Errored {
			what = "Error"
		}
		n := notice{Kind: "bad", What: what, Href: page.Under("runs", a.ID), Text: a.Reason}
		n.More, n.MoreHref = "All failed runs", "/runs?state=FAILED&state=ERROR"
		return n
	}
	return notice{Kind: "warn", What: string(a.Kind), Text: a.Reason}
}

// among leads to all of a section.
func (n notice) among(section string) notice {
	n.More, n.MoreHref = "All "+section, "/"+section
	return n
}

func runsWait(n int) string {
	if n == 1 {
		return "A run waits for it."
	}
	return page.Count(n) + " runs wait for it."
}

func refusedText(a overview.Attention) string {
	why := map[string]string{
		string(lineshaft.DeliveryRejectedAuth): "the signature or token was wrong",
		string(lineshaft.DeliveryRejectedJSON): "the body was not JSON",
		string(lineshaft.DeliveryRejectedSize): "the body was too large",
	}[a.Reason]
	if a.Count == 1 {
		return fmt.Sprintf("It rejected a delivery in the last hour: %s.", why)
	}
	return fmt.Sprintf("It rejected %s deliveries in the last hour; the last time, %s.", page.Count(a.Count), why)
}
