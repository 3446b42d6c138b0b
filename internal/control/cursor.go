package control

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

// listPrint identifies a list by its sort and filters; the page size may change.
func listPrint(q lineshaft.RunQuery) (string, error) {
	raw, err := json.Marshal(struct { //nolint:musttag // only hashed, never read back
		Filter    lineshaft.RunFilter
		Sort      lineshaft.RunSort
		Ascending bool
	}{q.Filter, q.Sort, q.Ascending})
	if err != nil {
		return "", err
	}
	return fingerprint(string(raw)), nil
}

func fingerprint(list string) string {
	sum := sha256.Sum256([]byte(list))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

func encodeCursor[K any](list string, key K) (string, error) {
	raw, err := json.Marshal(listCursor[K]{cursorVersion, list, key})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

func decodeCursor[K any](list, cursor string) (*K, error) {
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
