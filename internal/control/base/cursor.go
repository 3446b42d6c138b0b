package base

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"github.com/lineshaft/lineshaft"
)

// cursorVersion changes when the content of cursors does.
const cursorVersion = 1

// listCursor is the content of a cursor: where to go on, and in which list.
type listCursor[K any] struct {
	Version int    `json:"v"`
	List    string `json:"l"`
	Key     K      `json:"k"`
}

func errBadCursor() error {
	return lineshaft.Invalid("cursor", "this cursor does not belong to this list; ask for the first page again, with the same filters and sort throughout")
}

// ListPrint identifies a list by its sort and filters; the page size may change.
func ListPrint(q lineshaft.RunQuery) (string, error) {
	raw, err := json.Marshal(struct { //nolint:musttag // only hashed, never read back
		Filter    lineshaft.RunFilter
		Sort      lineshaft.RunSort
		Ascending bool
	}{q.Filter, q.Sort, q.Ascending})
	if err != nil {
		return "", err
	}
	return Fingerprint(string(raw)), nil
}

// Fingerprint stands for a list, so that a cursor continues only the one it came from.
func Fingerprint(list string) string {
	sum := sha256.Sum256([]byte(list))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// EncodeCursor is where a list continues after a key.
func EncodeCursor[K any](list string, key K) (string, error) {
	raw, err := json.Marshal(listCursor[K]{cursorVersion, list, key})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// DecodeCursor is the key that a cursor of the list holds.
func DecodeCursor[K any](list, cursor string) (*K, error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, errBadCursor()
	}
	var c listCursor[K]
	if json.Unmarshal(raw, &c) != nil || c.Version != cursorVersion || c.List != list {
		return nil, errBadCursor()
	}
	return &c.Key, nil
}
