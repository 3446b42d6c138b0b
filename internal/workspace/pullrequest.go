package workspace

import (
	"regexp"
	"strings"
)

const (
	// urlTail bounds what is kept of a text without spaces, in which a URL may have begun.
	urlTail = 2 << 10
	// maxPullRequests bounds what one agent can report by printing.
	maxPullRequests = 100
)

// PullRequests finds the addresses of pull requests in text that comes in pieces.
// It knows the forms of GitHub, GitLab, Bitbucket and Gitea on any host. Each
// address is reported once. The zero value is ready; it is not for concurrent use.
type PullRequests struct {
	tail string
	seen map[string]bool
}

// pullRequestURL has the address without what may follow the number. Addresses
// with a user name or a password in them are left alone.
var pullRequestURL = regexp.MustCompile(`https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/(?:` +
	`[\w.-]+/[\w.-]+/pulls?/[0-9]{1,18}` + // GitHub, Gitea
	`|(?:[\w.-]+/)+-/merge_requests/[0-9]{1,18}` + // GitLab
	`|(?:[\w.~-]+/)+pull-requests/[0-9]{1,18}` + // Bitbucket
	`)(?:[^\w-]|$)`)

// Add looks through the next piece and returns the addresses that are complete.
func (p *PullRequests) Add(text string) []string {
	text = p.tail + text
	cut := strings.LastIndexAny(text, " \t\r\n\"'<>`") + 1
	p.tail = text[cut:]
	found := p.find(text[:cut])
	if len(p.tail) > 2*urlTail {
		// No agent prints an address this long: give up on all but the end.
		found = append(found, p.find(p.tail[:len(p.tail)-urlTail])...)
		p.tail = p.tail[len(p.tail)-urlTail:]
	}
	return found
}

// Flush returns what the end of the text completes.
func (p *PullRequests) Flush() []string {
	text := p.tail
	p.tail = ""
	return p.find(text)
}

func (p *PullRequests) find(text string) []string {
	// The expression is slow beside these, and few lines of output have an address.
	if !strings.Contains(text, "://") || !strings.Contains(text, "/pull") && !strings.Contains(text, "/merge_requests/") {
		return nil
	}
	var found []string
	for _, match := range pullRequestURL.FindAllString(text, -1) {
		url := strings.TrimRightFunc(match, func(r rune) bool { return r < '0' || r > '9' })
		if p.seen[url] || len(p.seen) >= maxPullRequests {
			continue
		}
		if p.seen == nil {
			p.seen = map[string]bool{}
		}
		p.seen[url] = true
		found = append(found, url)
	}
	return found
}
