package page

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/rate"
)

// liveRate is how often in a minute the open pages of one person may ask for news, unless
// the limit itself is higher: five of the liveliest take 300.
const liveRate = 600

// LiveParts are routes that open pages read by themselves, as streams or every so often.
func LiveParts() []string {
	const hook = "GET /factories/{factory}/webhooks/{webhook}"
	return []string{
		"GET /runs/{id}/events", "GET /runs/live", "GET /runs/rows", "GET /workers/now",
		hook + "/first", hook + "/deliveries", hook + "/deliveries/{delivery}/outcomes",
	}
}

// LivePages are pages that also ask for themselves again; their script says so.
func LivePages() []string {
	return []string{"GET /{$}", "GET /runs", "GET /sessions", "GET /notifications/{id}", "GET /notifications/{id}/deliveries/{delivery}"}
}

// asksForNews says whether a page that is open sent a request, rather than a person.
func asksForNews(r *http.Request) bool {
	return slices.Contains(LiveParts(), r.Pattern) || r.Header.Get("Hx-Request") == "true" && slices.Contains(LivePages(), r.Pattern)
}

// checkRate counts a request against the limit of its sender: of the key that they
// signed in with, which programs may also use, or of the person whom an identity
// provider signed in, in all of their browsers. Polling by open pages has a
// count of its own: watching a run must not keep anyone from cancelling it.
func (s *Site) checkRate(r *http.Request, c lineshaft.Caller) error {
	who := c.KeyID
	who = cmp.Or(who, c.Principal.UID)
	limiter := s.Rate
	if asksForNews(r) {
		limiter = s.news
	}
	verdict, _ := limiter.Take(who, s.Now())
	if verdict.Wait <= 0 {
		return nil
	}
	seconds, what := rate.Seconds(verdict.Wait), "load this page again"
	if r.Method == http.MethodPost {
		what = "send it again; nothing was changed"
	}
	return lineshaft.RateLimited(verdict.Wait,
		"That was more than the %d requests a minute that this server allows each key and each person. Wait %d s, then %s.", limiter.Limit(), seconds, what)
}
