package shell

import (
	"testing"
)

func TestI1ContextPlace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		env  []string
		want string
	}{
		{nil, ""},
		{[]string{"HOME=/home/ada"}, "/home/ada/.config/lineshaft/contexts.yaml"},
		{[]string{"HOME=/home/ada", "XDG_CONFIG_HOME=/etc/ada"}, "/etc/ada/lineshaft/contexts.yaml"},
		{[]string{"HOME=/home/ada", "XDG_CONFIG_HOME=relative"}, "/home/ada/.config/lineshaft/contexts.yaml"},
		{[]string{"HOME=/home/ada", "LINESHAFT_CONTEXTS=x.yaml"}, "x.yaml"},
	} {
		if got := New(Surroundings{Environ: append([]string{}, tc.env...)}, "dev").contextPath(); len(tc.env) > 0 && got != tc.want {
			t.Errorf("%v: %q, want %q", tc.env, got, tc.want)
		}
	}
}
