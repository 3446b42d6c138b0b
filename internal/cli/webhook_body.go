package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/lineshaft/lineshaft/internal/signature"
)

// maxDeliveryID is the longest id that the server takes for one.
const maxDeliveryID = 256

func (d delivery) checkID() error {
	if len(d.id) <= maxDeliveryID && strings.TrimSpace(d.id) == d.id && !strings.ContainsFunc(d.id, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil
	}
	return usage("--id is not an id", fmt.Sprintf("It has at most %d printable ASCII characters, without spaces around them.", maxDeliveryID))
}

// bodyIDs are the places in the body where the scheme looks for an id; none if it has
// a header for it, which is looked at first.
func (d delivery) bodyIDs() []string {
	scheme, _ := signature.Find(d.scheme)
	var places []string
	for _, source := range scheme.Identity {
		if source.Header != "" {
			return nil
		}
		places = append(places, source.Body)
	}
	return places
}

// otherID is where a body has an id of its own that counts before the one of --id.
func (d delivery) otherID(body []byte) string {
	if d.idHeader != "" {
		return ""
	}
	for _, place := range d.bodyIDs() {
		if id := textAt(body, place); id != "" && id != d.id {
			return place
		}
	}
	return ""
}

// textAt finds the text at a path such as event.id; empty if there is none.
func textAt(body json.RawMessage, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) != nil {
			return ""
		}
		body = members[name]
	}
	var text string
	_ = json.Unmarshal(body, &text) // what is no text is no id
	return text
}

// testObject has what schemes look for.
func (d delivery) testObject(millis int64) map[string]any {
	object := map[string]any{"id": d.id, "test": true, "webhookTimestamp": millis}
	for _, place := range d.bodyIDs() {
		at, names := object, strings.Split(place, ".")
		for _, name := range names[:len(names)-1] {
			below := map[string]any{}
			at[name], at = below, below
		}
		at[names[len(names)-1]] = d.id
	}
	return object
}

// deliveryBody is what was given, or the test object.
func (sh *shell) deliveryBody(d delivery) ([]byte, error) {
	in := sh.in
	switch {
	case d.data == "":
		return json.Marshal(d.testObject(sh.now().UnixMilli()))
	case strings.HasPrefix(d.data, "@"):
		file, err := os.Open(d.data[1:])
		if err != nil {
			return nil, usage(fmt.Sprintf("cannot read the body: %v", err), "Check the name given with --data @FILE.")
		}
		defer func() { _ = file.Close() }() // it was only read
		in = file
	case d.data != "-":
		return []byte(d.data), nil
	}
	body, err := io.ReadAll(io.LimitReader(in, maxDelivery+1))
	if err != nil {
		return nil, failure(err, fmt.Sprintf("cannot read the body: %v", err), "Check what --data names.")
	}
	if len(body) > maxDelivery {
		return nil, usage(fmt.Sprintf("the body has more than %d bytes", maxDelivery), "No webhook takes that much.")
	}
	return body, nil
}
