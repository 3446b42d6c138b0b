package overview

import (
	"context"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// findSilent lists the automations that listen to webhooks that are gone.
func (s *Overviews) findSilent(_ context.Context, c lineshaft.Caller, _ *Overview) ([]Attention, error) {
	var found []Attention
	for _, a := range s.trigger.SilentAutomations() {
		if c.MaySeeFactory(a.FactoryUID) && len(found) <= attentionEach {
			found = append(found, Attention{
				Kind: AttentionSilent, ID: a.UID, Name: a.Name, FactoryUID: a.FactoryUID, FactoryName: a.FactoryName,
				Reason: strings.Join(a.Gone, ", "), Count: len(a.Gone),
			})
		}
	}
	return few(found), nil
}
