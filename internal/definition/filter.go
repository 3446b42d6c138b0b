package definition

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// ParseFilter reads the filter of one trigger alone, as YAML or JSON, and checks it
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
	// YAML knows no tabs, but pasted JSON may have them.
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

// payload is a payload filter, kept as JSON.
func payload(to *json.RawMessage) value {
	return value{
		read: func(r *reader, path string, n *node) {
			if n.kind != objectNode {
				r.wrongKind(n, path, "an object that mirrors the body", "write it as in payload: {action: [opened]}")
				return
			}
			r.notePayload(path, n)
			before := len(r.problems)
			n = r.dropTwice(path, n)
			if r.checkPayload(path, n); len(r.problems) == before && len(n.fields) > 0 {
				*to = json.RawMessage(n.json())
			}
		},
		write: func() *node {
			n, err := fromJSON(*to)
			if err != nil || n.kind != objectNode || len(n.fields) == 0 {
				return nil
			}
			return n
		},
		schema: func() schema { return schema{"type": "object"} },
	}
}

// notePayload remembers where each field and value of a filter is, by the paths that
// errors of the filter have.
func (r *reader) notePayload(path string, n *node) {
	for _, f := range n.fields {
		at := path + "." + f.key
		r.note(at, f.line, f.column)
		r.notePayload(at, f.value)
	}
	for i, item := range n.items {
		at := path + "[" + strconv.Itoa(i) + "]"
		r.note(at, item.line, item.column)
		r.notePayload(at, item)
	}
}

// dropTwice reports keys that are written twice, and leaves out the second ones.
func (r *reader) dropTwice(path string, n *node) *node {
	out := *n
	out.fields = nil
	seen := map[string]bool{}
	for _, f := range n.fields {
		if at := path + "." + f.key; seen[f.key] {
			r.report(f.line, f.column, at+": the key is written twice", "merge the two").as(CodeDuplicateKey)
			continue
		} else if f.value.kind == objectNode {
			f.value = r.dropTwice(at, f.value)
		}
		seen[f.key] = true
		out.fields = append(out.fields, f)
	}
	return &out
}

// checkPayload compiles a filter and, if that fails, each of its fields
// separately: it reports every field that is wrong.
func (r *reader) checkPayload(path string, n *node) {
	_, whole := filter.Compile([]byte(n.json()))
	if whole == nil {
		return
	}
	before := len(r.problems)
	for _, f := range n.fields {
		alone := &node{kind: objectNode, fields: []field{f}}
		if _, err := filter.Compile([]byte(alone.json())); err != nil {
			r.blamePayload(path, err)
		}
	}
	if len(r.problems) == before {
		r.blamePayload(path, whole)
	}
}

func (r *reader) blamePayload(path string, err error) {
	r.blame(lineshaft.Rename(err, func(field string) string { return strings.TrimPrefix(strings.TrimPrefix(field, "payload"), ".") }), path)
}
