package remote_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/remote"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

// An answer that cannot be read is an outage: the call is made again, no agent ends by
// it, and nothing of it is quoted, for it may hold secrets.
func TestX1AnswersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.start(lineshaft.AgentConfig{})
		job := b.claim(b.client(), 1)[0]
		for name, answer := range map[string]func(w http.ResponseWriter){
			"no JSON":   func(w http.ResponseWriter) { _, _ = w.Write([]byte("sesame, open")) },
			"half JSON": func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"last_event": 1, "x": "sesame`)) },
			"cut off": func(w http.ResponseWriter) {
				w.Header().Set("Content-Length", "100")
				_, _ = w.Write([]byte(`{"x": "sesame`))
			},
		} {
			b.front.set(func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set(workerwire.HeaderProtocol, "1")
				answer(w)
				return true
			})
			_, err := b.client().TakeOver(b.Context(), job.ExecutionRef, "", false)
			if err == nil || remote.Refused(err) || strings.Contains(err.Error(), "sesame") {
				b.Errorf("%s: %v", name, err)
			}
		}
		b.front.set(nil)
		if last, err := b.client().TakeOver(b.Context(), job.ExecutionRef, "", false); err != nil || last != 0 {
			b.Errorf("take over: %d, %v", last, err)
		}
	})
}
