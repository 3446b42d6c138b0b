package factories

import (
	"testing"
)

func TestW16ChecksAreReadable(t *testing.T) {
	t.Parallel()
	if got := readable([]byte(`"\u003c@U1\u003e \u0026 co"`)); got != `"<@U1> & co"` {
		t.Errorf("got %s", got)
	}
}
