package web_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// I-2: what an empty page asks people to paste works on a server without a model, where
// the shell agent needs a block of shell lines.
func TestI2RunsToPasteWorkWithoutAModel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	environment := must(s.control.CreateEnvironment(t.Context(), s.admin, lineshaft.EnvironmentConfig{Name: "shop"}))
	copies := regexp.MustCompile(`(?s)<div class="copy"><pre[^>]*>(.*?)</pre>`)
	for _, path := range []string{"/", "/runs", "/environments/" + environment.UID} {
		found := 0
		for _, match := range copies.FindAllStringSubmatch(s.shows(path), -1) {
			command := html.UnescapeString(match[1])
			if !strings.HasPrefix(command, "lineshaft run ") {
				continue
			}
			found++
			if !regexp.MustCompile("^lineshaft run --follow (--environment \\S+ )?'[^']*\n```sh\n[^']+\n```'$").MatchString(command) {
				t.Errorf("%s: %q", path, command)
			}
		}
		if found != 1 {
			t.Errorf("%s has %d runs to paste", path, found)
		}
	}
}
