package trigger

import (
	"context"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
)

// MaxVolume is how many deliveries are counted for a chart: the newest of its time. Each may
// have a hundred outcomes that are looked through.
const MaxVolume = 2000

// VolumeQuery asks how many deliveries came: to one webhook of a factory, to those of a
// factory, or to all that the caller may see.
type VolumeQuery struct {
	FactoryUID, WebhookUID string
	// Bar is how long each of the bars is; the last has the present in it.
	Bar  time.Duration
	Bars int
}

// VolumeBar counts the deliveries of a stretch of time by what came of them.
type VolumeBar struct {
	From, Until                                       time.Time
	Started, NotMatched, Failed, Duplicates, Rejected int64
}

// Total is how many came.
func (b VolumeBar) Total() int64 {
	return b.Started + b.NotMatched + b.Failed + b.Duplicates + b.Rejected
}

// Volume is how many deliveries came over time.
type Volume struct {
	At   time.Time
	Bars []VolumeBar
	// CountedFrom is the oldest that was counted when there are more than MaxVolume; else zero.
	CountedFrom time.Time
}

// DeliveryVolume counts deliveries. It reads MaxVolume of them at most, along the index of the
// log that it is about, so a busy server is not slowed down by those who look at it.
func (s *Triggers) DeliveryVolume(ctx context.Context, c lineshaft.Caller, q VolumeQuery) (Volume, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return Volume{}, err
	}
	now := s.Store.Now()
	first := now.Truncate(q.Bar).Add(-time.Duration(q.Bars-1) * q.Bar)
	found, err := s.briefs(ctx, c, q, id.Floor(first))
	if err != nil {
		return Volume{}, err
	}
	volume := Volume{At: now, Bars: make([]VolumeBar, q.Bars)}
	for i := range volume.Bars {
		from := first.Add(time.Duration(i) * q.Bar)
		volume.Bars[i].From, volume.Bars[i].Until = from, from.Add(q.Bar)
	}
	if len(found) > MaxVolume {
		found = found[:MaxVolume]
		volume.CountedFrom, _ = id.Time(found[MaxVolume-1].ID)
	}
	for _, d := range found {
		at, _ := id.Time(d.ID)
		// Those dated by a clock ahead of this one go with the newest.
		countDelivery(&volume.Bars[min(int(at.Sub(first)/q.Bar), q.Bars-1)], d)
	}
	return volume, nil
}

func (s *Triggers) briefs(ctx context.Context, c lineshaft.Caller, q VolumeQuery, floor string) ([]store.DeliveryBrief, error) {
	if q.WebhookUID != "" {
		if err := s.hasLog(ctx, c, q.FactoryUID, q.WebhookUID); err != nil {
			return nil, err
		}
		return s.Store.BriefDeliveries(ctx, store.DeliveryScope{WebhookUID: q.WebhookUID}, floor, MaxVolume+1)
	}
	if q.FactoryUID != "" {
		if _, err := s.VisibleFactory(ctx, c, q.FactoryUID); err != nil {
			return nil, err
		}
	}
	uids, ok := base.ListedFactories(c, q.FactoryUID)
	if !ok {
		return nil, nil
	}
	return s.Store.BriefDeliveries(ctx, store.DeliveryScope{FactoryUIDs: uids}, floor, MaxVolume+1)
}

func countDelivery(b *VolumeBar, d store.DeliveryBrief) {
	switch {
	case d.Handshake: // is not in any of the lists behind the bars
	case d.Status == lineshaft.DeliveryDuplicate:
		b.Duplicates++
	case d.Status != lineshaft.DeliveryAccepted:
		b.Rejected++
	case d.Failed:
		b.Failed++
	case d.Started:
		b.Started++
	default:
		b.NotMatched++
	}
}
