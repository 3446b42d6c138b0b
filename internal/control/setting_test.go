package control_test

import (
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/overview"
)

func TestS3SettingsAreForAdmins(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		state := must[overview.ServerState](b)(b.s.ServerState(b.Context(), b.admin))
		if state.Engine != b.store.Engine() || state.Schema < 5 || state.DeliveryKeep < 50 || len(state.Parts) < 2 || state.OIDCSessionLife != base.OIDCSessionLife {
			b.Errorf("%+v", state)
		}
		for _, c := range []lineshaft.Caller{b.caller(lineshaft.RoleViewer), b.caller(lineshaft.RoleManager), b.caller(lineshaft.RoleAdmin, "f1")} {
			_, err := b.s.ServerState(b.Context(), c)
			wantCode(b, err, lineshaft.CodeNotAuthorized)
		}
	})
}
