package web

import (
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/overview"
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
	// More leads to others of the kind.
	More, MoreHref string
}

// notices puts what needs attention into words and says where to go.
func notices(view *overview.Overview) []notice {
	list := make([]notice, len(view.Attention))
	for i, a := range view.Attention {
		n := noticeOf(a)
		n.ID, n.Name, n.At = "see-"+string(a.Kind)+"-"+a.ID, a.Name, a.At
		if !a.More {
			n.More, n.MoreHref = "", ""
		}
		list[i] = n
	}
	return list
}

// certificateNotices tell of certificates that cannot be got, read or renewed.
func certificateNotices(all []Certificate) []notice {
	var list []notice
	for _, c := range all {
		if c.Problem == "" {
			continue
		}
		n := notice{ID: "see-certificate-" + c.Name, Kind: "bad", What: "Certificate", Name: c.Name, Href: "/settings/doctor", Text: "There is none yet: " + c.Problem + "."}
		if !c.Until.IsZero() {
			n.Text = fmt.Sprintf("It ends %s: %s.", c.Until.UTC().Format("2006-01-02 15:04 UTC"), c.Problem)
		}
		list = append(list, n)
	}
	return list
}

func noticeOf(a overview.Attention) notice {
	webhook := "/factories/" + a.FactoryUID + "/webhooks/" + a.ID
	switch a.Kind {
	case overview.AttentionBlocked:
		return notice{
			Kind: "warn", What: "Waits for you", Href: "/runs/" + a.ID, Text: wordsOr(a.Reason, "The agent asked a question. Answer it with a follow-up."),
			More: "All runs that wait for an answer", MoreHref: "/runs?state=BLOCKED",
		}
	case overview.AttentionWorker:
		n := notice{
			Kind: "bad", What: "No worker", Href: "/workers", Text: runsWait(a.Count) + fmt.Sprintf(" Start it with lineshaft worker --id %s.", a.ID),
			More: "All workers", MoreHref: "/workers",
		}
		if a.ID == lineshaft.HostedWorker {
			n.Text = runsWait(a.Count) + " The server's own worker is off or just starting."
		}
		return n
	case overview.AttentionQueue:
		text := "It has waited long for a free worker."
		if a.Count > 1 {
			text = fmt.Sprintf("%s runs have waited more than 5 minutes for a free worker. Add workers, or cancel what is not needed.", count(a.Count))
		}
		return notice{Kind: "warn", What: "Old queue", Href: "/runs/" + a.ID, Text: text}
	case overview.AttentionSecret:
		return notice{
			Kind: "warn", What: "Webhook", Href: webhook, Where: a.FactoryName, Text: "It takes no deliveries until its secret is entered.",
			More: "All webhooks", MoreHref: "/webhooks",
		}
	case overview.AttentionRefused:
		return notice{Kind: "bad", What: "Webhook", Href: webhook, Where: a.FactoryName, Text: refusedText(a), More: "All webhooks", MoreHref: "/webhooks"}
	case overview.AttentionSilent:
		return notice{
			Kind: "warn", What: "Automation", Href: automationAddress(a.FactoryUID, a.ID), Where: a.FactoryName,
			Text: "It listens to a webhook that is gone: " + a.Reason + ". Let it listen to another one, or disable it.",
			More: "All automations", MoreHref: "/automations",
		}
	case overview.AttentionRepository:
		text := "Its repository cannot be read: " + a.Reason
		if a.Count > 0 {
			text = "The newest commit is not in force: " + a.Reason
		}
		return notice{Kind: "bad", What: "Factory", Href: "/factories/" + a.ID, Text: text, More: "All factories", MoreHref: "/factories"}
	case overview.AttentionSchedule:
		return notice{Kind: "bad", What: "Schedule", Href: "/schedules/" + a.ID, Text: "It started no run: " + a.Reason, More: "All schedules", MoreHref: "/schedules"}
	case overview.AttentionCallback:
		return notice{
			Kind: "bad", What: "Notification", Href: "/notifications/" + a.ID,
			Text: "It gets no callbacks any more: " + a.Reason + ". Mend the receiver, then enable it again.", More: "All notifications", MoreHref: "/notifications",
		}
	case overview.AttentionLate:
		return notice{Kind: "warn", What: "Callbacks", Href: "/notifications", Text: "They are late, and are sent when this is mended: " + a.Reason + ".", More: "All notifications", MoreHref: "/notifications"}
	case overview.AttentionFailed:
		what := "Failed"
		if a.State == lineshaft.Errored {
			what = "Error"
		}
		return notice{Kind: "bad", What: what, Href: "/runs/" + a.ID, Text: a.Reason, More: "All failed runs", MoreHref: "/runs?state=FAILED&state=ERROR"}
	}
	return notice{Kind: "warn", What: string(a.Kind), Text: a.Reason}
}

func wordsOr(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func runsWait(n int) string {
	if n == 1 {
		return "A run waits for it."
	}
	return count(n) + " runs wait for it."
}

func refusedText(a overview.Attention) string {
	why := map[string]string{
		string(lineshaft.DeliveryRejectedAuth): "the signature or token was wrong",
		string(lineshaft.DeliveryRejectedJSON): "the body was not JSON",
		string(lineshaft.DeliveryRejectedSize): "the body was too large",
	}[a.Reason]
	if a.Count == 1 {
		return fmt.Sprintf("It refused a delivery in the last hour: %s.", why)
	}
	return fmt.Sprintf("It refused %s deliveries in the last hour; the last time, %s.", count(a.Count), why)
}
