package web

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"

	"github.com/lineshaft/lineshaft/internal/control/base"
)

// onceField tells a form from others that are alike: {{once}} puts it into one.
const onceField = "once"

// onceOf makes a second sending of the same form do nothing; one that was changed in
// between is another.
func onceOf(r *http.Request) *base.Idempotency {
	token := r.PostFormValue(onceField)
	if len(token) < 16 || len(token) > 100 {
		return nil
	}
	rest := maps.Clone(r.PostForm)
	rest.Del(onceField)
	sum := sha256.Sum256([]byte(rest.Encode()))
	return &base.Idempotency{Key: fmt.Sprintf("%s-%x", token, sum[:8]), Method: r.Method, Path: r.URL.Path, BodyHash: sum}
}
