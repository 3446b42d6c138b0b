package control_test

import (
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/id"
)

// The newest are counted, and what was left out is named.
func TestW18VolumeIsBounded(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		now := w.clock.now().Truncate(time.Microsecond)
		w.fill(w.hook.UID, 5, now.Add(-48*time.Hour)) // before the chart begins
		count := func(c lineshaft.Caller, q trigger.VolumeQuery) (int64, trigger.Volume) {
			q.Bar, q.Bars = time.Hour, 24
			volume := must[trigger.Volume](w.bench)(w.s.DeliveryVolume(w.Context(), c, q))
			sum := int64(0)
			for i, bar := range volume.Bars {
				sum += bar.Total()
				if bar.Until.Sub(bar.From) != time.Hour || i > 0 && !bar.From.Equal(volume.Bars[i-1].Until) {
					w.Errorf("bar %d is %s to %s", i, bar.From, bar.Until)
				}
			}
			return sum, volume
		}
		if n, volume := count(w.admin, trigger.VolumeQuery{}); n != 0 || !volume.CountedFrom.IsZero() {
			w.Errorf("%d of before the chart", n)
		}
		ids := w.fill(w.hook.UID, trigger.MaxVolume+10, now)
		oldest, _ := id.Time(ids[trigger.MaxVolume-1])
		for what, q := range map[string]trigger.VolumeQuery{
			"all": {}, "factory": {FactoryUID: w.factory}, "webhook": {FactoryUID: w.factory, WebhookUID: w.hook.UID},
		} {
			if n, volume := count(w.admin, q); n != trigger.MaxVolume || !volume.CountedFrom.Equal(oldest) {
				w.Errorf("%s: %d since %s, want %d since %s", what, n, volume.CountedFrom, trigger.MaxVolume, oldest)
			}
			stranger := w.admin
			stranger.FactoryUIDs = []string{"another"}
			q.Bar, q.Bars = time.Hour, 1
			volume, err := w.s.DeliveryVolume(w.Context(), stranger, q)
			if what == "all" {
				if err != nil || volume.Bars[0].Total() != 0 {
					w.Errorf("a key of another factory counts %+v, %v", volume.Bars, err)
				}
				continue
			}
			wantCode(w, err, lineshaft.CodeNotFound)
		}
	})
}
