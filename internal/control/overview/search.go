package overview

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
)

// SearchLimit is how many of each kind a search finds.
const SearchLimit = 20

// maxSearch bounds the text that is searched for.
const maxSearch = 1000

// Found is what a search found, by kind.
type Found struct {
	// Runs have the text as their id, or as its beginning.
	Runs []lineshaft.Run
	// Deliveries have the text as their id.
	Deliveries []FoundDelivery
	// Factories have the text in their name or alias.
	Factories []lineshaft.Factory
	// Agents, Automations, Webhooks, Schedules and Notifications have the text in their names.
	Agents, Automations, Webhooks, Schedules, Notifications []FoundNamed
	// Titles are the newest runs with all words of the text.
	Titles []lineshaft.Run
	// MoreTitles says that there are more runs like those.
	MoreTitles bool
}

// FoundDelivery is a delivery and the factory whose webhook got it.
type FoundDelivery struct {
	lineshaft.Delivery

	FactoryUID string
}

// FoundNamed is a part of a factory, or of the team, that was found by its name.
type FoundNamed struct {
	FactoryUID string
	UID        string
	Name       string
}

// idStart is the beginning of a run's id that is precise to a minute at least. Words
// such as "added" are shorter.
var idStart = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{0,4}(-[0-9a-f]{0,4}(-[0-9a-f]{0,4}(-[0-9a-f]{0,12})?)?)?)?$`)

// Search finds what the caller may see of what a text can mean: the id of a run or of a
// delivery, a part of a name, or words. Ids and words are looks into an index; for names, a
// bounded number is checked.
func (s *Overviews) Search(ctx context.Context, c lineshaft.Caller, text string) (Found, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return Found{}, err
	}
	var found Found
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxSearch || strings.ContainsRune(text, 0) {
		return found, nil
	}
	for _, look := range []func(context.Context, lineshaft.Caller, string, *Found) error{
		s.searchIDs, s.searchDelivery, s.searchNames, s.searchWords,
	} {
		if err := look(ctx, c, text, &found); err != nil {
			return Found{}, err
		}
	}
	return found, nil
}

// searchIDs finds runs by their id. An id begins with its time, so those with the same
// beginning are a stretch of the list by creation.
func (s *Overviews) searchIDs(ctx context.Context, c lineshaft.Caller, text string, found *Found) (err error) {
	start := strings.ToLower(text)
	if id.Valid(start) {
		found.Runs, err = s.runs.RunsByID(ctx, c, []string{start})
		return err
	}
	if !idStart.MatchString(start) {
		return nil
	}
	first, ok := id.Time(start + "00000000-0000-7000-8000-000000000000"[len(start):])
	last, ok2 := id.Time(start + "ffffffff-ffff-7fff-bfff-ffffffffffff"[len(start):])
	if !ok || !ok2 {
		return nil
	}
	page, err := s.runs.ListRuns(ctx, c, lineshaft.RunQuery{
		Filter: lineshaft.RunFilter{CreatedAfter: first, CreatedBefore: last.Add(time.Microsecond)}, Sort: lineshaft.SortCreated, Limit: SearchLimit,
	})
	for _, run := range page.Runs {
		if strings.HasPrefix(run.ID, start) { // the times of ids are whole microseconds
			found.Runs = append(found.Runs, run)
		}
	}
	return err
}

func (s *Overviews) searchDelivery(ctx context.Context, c lineshaft.Caller, text string, found *Found) error {
	deliveryID := strings.ToLower(text)
	if !id.Valid(deliveryID) || !c.Role.May(lineshaft.PermissionFactoriesRead) {
		return nil
	}
	delivery, err := s.Store.FindDelivery(ctx, deliveryID)
	if err != nil {
		return base.IgnoreNotFound(err)
	}
	webhook, err := s.Store.FindWebhook(ctx, delivery.WebhookUID)
	if err != nil {
		return base.IgnoreNotFound(err)
	}
	if c.MaySeeFactory(webhook.FactoryUID) {
		found.Deliveries = append(found.Deliveries, FoundDelivery{Delivery: *delivery, FactoryUID: webhook.FactoryUID})
	}
	return nil
}

func (s *Overviews) searchNames(ctx context.Context, c lineshaft.Caller, text string, found *Found) error {
	if !c.Role.May(lineshaft.PermissionFactoriesRead) {
		return nil
	}
	factories, err := s.factories.ListFactories(ctx, c, controlfactories.FactoryQuery{Search: text, Limit: SearchLimit})
	if err != nil {
		return err
	}
	found.Factories = factories.Factories
	named, err := s.Store.ListNamed(ctx, text, c.FactoryUIDs, SearchLimit)
	for _, n := range named {
		into := map[string]*[]FoundNamed{
			"agent": &found.Agents, "automation": &found.Automations, "webhook": &found.Webhooks, "schedule": &found.Schedules,
		}[n.Kind]
		*into = append(*into, FoundNamed{FactoryUID: n.FactoryUID, UID: n.UID, Name: n.Name})
	}
	if err != nil {
		return err
	}
	notifications, err := s.notify.ListNotifications(ctx, c) // a server has few
	for i := range notifications {
		if n := &notifications[i]; len(found.Notifications) < SearchLimit && store.NameRank(n.Name, strings.ToLower(text)) < 3 {
			found.Notifications = append(found.Notifications, FoundNamed{UID: n.ID, Name: n.Name})
		}
	}
	return err
}

func (s *Overviews) searchWords(ctx context.Context, c lineshaft.Caller, text string, found *Found) error {
	if len(store.SearchWords(text)) == 0 {
		return nil
	}
	page, err := s.runs.ListRuns(ctx, c, lineshaft.RunQuery{Filter: lineshaft.RunFilter{Query: text}, Sort: lineshaft.SortCreated, Limit: SearchLimit})
	found.MoreTitles = page.Next != ""
	for _, run := range page.Runs {
		if len(found.Runs) == 0 || run.ID != found.Runs[0].ID {
			found.Titles = append(found.Titles, run)
		}
	}
	return err
}
