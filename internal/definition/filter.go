package definition

import (
	"strings"

	"github.com/lineshaft/lineshaft"
)

// ParseFilter reads the filter of one trigger by itself, as YAML or JSON, and checks it
// in its trigger. For provider webhook the text is the payload filter, for all others
// the keys of the filter. Problems have places in the text and no file. What t's own
// filter names as webhooks stays.
func ParseFilter(t lineshaft.Trigger, text string) (lineshaft.TriggerFilter, []lineshaft.FileProblem) {
	f := &findings{places: map[string]place{}}
	r := &reader{findings: f}
	read := lineshaft.TriggerFilter{WebhookIDs: t.Filter.WebhookIDs, Webhooks: t.Filter.Webhooks}
	if len(text) > maxYAML || !blankYAML(text) {
		r.readFilter(t, text, &read)
	}
	return read, withoutPrefix(f.told(), t.Provider)
}

// withoutPrefix names fields as the text does.
func withoutPrefix(problems []lineshaft.FileProblem, provider string) []lineshaft.FileProblem {
	prefix := "filter"
	if provider == lineshaft.ProviderWebhook {
		prefix = "filter.payload"
	}
	for i, p := range problems {
		rest := strings.TrimPrefix(p.Message, prefix)
		problems[i].Message = strings.TrimPrefix(strings.TrimPrefix(rest, ": "), ".")
	}
	return problems
}

func (r *reader) readFilter(t lineshaft.Trigger, text string, to *lineshaft.TriggerFilter) {
	// YAML knows no tabs, but JSON that somebody pastes may have them.
	n := r.document(strings.ReplaceAll(text, "\t", " "))
	if n == nil {
		return
	}
	if t.Provider == lineshaft.ProviderWebhook {
		payload(&to.Payload).read(r, "filter.payload", n)
		return
	}
	filterBlock(to).read(r, "filter", n)
	sound := soundTrigger(t.Provider)
	if sound.Event = t.Event; checkFired(sound) != nil {
		return // the event is not this text's mistake
	}
	for _, part := range filterParts(*to) {
		r.blame(checkFired(withPart(sound, part)), "")
	}
}

// ownKeys are the keys of a filter but those that name webhooks.
func ownKeys(f *lineshaft.TriggerFilter) []key { return filterKeys(f)[2:] }

// WriteFilter writes a filter as ParseFilter reads it.
func WriteFilter(t lineshaft.Trigger) string {
	if t.Provider == lineshaft.ProviderWebhook {
		if n := payload(&t.Filter.Payload).write(); n != nil {
			return writeYAML(n)
		}
		return ""
	}
	return writeYAML(writeObject(ownKeys(&t.Filter)))
}
