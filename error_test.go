package lineshaft_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

func TestH5ConstructorsGiveTheirCode(t *testing.T) {
	t.Parallel()
	cause := errors.New("secret detail")
	for _, test := range []struct {
		err       *lineshaft.Error
		code      lineshaft.Code
		field     string
		retryable bool
		limited   bool
	}{
		{lineshaft.Invalid("config.name", "too %s", "long"), lineshaft.CodeInvalidRequest, "config.name", false, false},
		{lineshaft.NotFound("run", "x"), lineshaft.CodeNotFound, "", false, false},
		{lineshaft.NotSupported("mode", "no"), lineshaft.CodeNotSupported, "mode", false, false},
		{lineshaft.Conflict("taken"), lineshaft.CodeConflict, "", false, false},
		{lineshaft.Denied("no"), lineshaft.CodeNotAuthorized, "", false, false},
		{lineshaft.Unavailable(cause, "away"), lineshaft.CodeUnavailable, "", true, false},
		{lineshaft.RateLimited(3*time.Second, "slow"), lineshaft.CodeUnavailable, "", true, true},
	} {
		if test.err.Code != test.code || test.err.Field != test.field || test.err.Retryable != test.retryable || test.err.Limited != test.limited {
			t.Errorf("%+v", test.err)
		}
		if test.err.Retryable && test.err.RetryAfter <= 0 {
			t.Errorf("%v may be retried, but not said when", test.err)
		}
		if got := lineshaft.CodeOf(fmt.Errorf("outer: %w", test.err)); got != test.code {
			t.Errorf("wrapped %s became %s", test.code, got)
		}
	}
}

// The cause is for the log: the text of the error must not have it.
func TestH5CauseStaysInside(t *testing.T) {
	t.Parallel()
	cause := errors.New("password=hunter2")
	err := lineshaft.Unavailable(cause, "the database does not answer")
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the cause is shown: %s", err)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause cannot be found for the log")
	}
	if text := lineshaft.Invalid("prompt", "empty").Error(); text != "invalid_request: prompt: empty" {
		t.Errorf("text is %q", text)
	}
	if text := lineshaft.Conflict("busy").Error(); text != "conflict: busy" {
		t.Errorf("text is %q", text)
	}
}

func TestH5UnknownErrorsAreInternal(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("x"), fmt.Errorf("y: %w", errors.New("z"))} {
		if got := lineshaft.CodeOf(err); got != lineshaft.CodeInternal {
			t.Errorf("%v is %s", err, got)
		}
	}
	joined := errors.Join(errors.New("x"), lineshaft.Conflict("y"))
	if lineshaft.CodeOf(joined) != lineshaft.CodeConflict {
		t.Error("the code in a joined error is not found")
	}
	seen := map[lineshaft.Code]bool{}
	for _, code := range lineshaft.Codes() {
		if seen[code] {
			t.Errorf("%s is listed twice", code)
		}
		seen[code] = true
	}
	if len(seen) != 17 {
		t.Errorf("%d codes", len(seen))
	}
}
