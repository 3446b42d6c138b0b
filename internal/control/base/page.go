package base

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// MaxPage is how many rows a page of a list has at most (H-14).
const MaxPage = 500

// Page is a part of a list; Next is the cursor of the part after it.
type Page[T any] struct {
	Items []T
	Next  string

	// cursor leads to the items after an item.
	cursor func(*T) (string, error)
}

// Cut ends the page after its first n items, as if it had been asked for that many.
func (p *Page[T]) Cut(n int) (err error) {
	p.Items = p.Items[:n]
	p.Next, err = p.cursor(&p.Items[n-1])
	return err
}

// ReadPage reads a page of the list of that name. Read gives what comes after a key, and
// whether there is more; keyOf is the key of an item.
func ReadPage[T, K any](list, cursor string, keyOf func(*T) K, read func(after K) ([]T, bool, error)) (Page[T], error) {
	list = Fingerprint(list)
	var after K
	if cursor != "" {
		key, err := DecodeCursor[K](list, cursor)
		if err != nil {
			return Page[T]{}, err
		}
		after = *key
	}
	items, more, err := read(after)
	page := Page[T]{Items: items, cursor: func(item *T) (string, error) { return EncodeCursor(list, keyOf(item)) }}
	if err != nil || !more {
		return page, err
	}
	return page, page.Cut(len(items))
}

// How many rows of a list are read to fill a page with what fits: at a time, and in all. A
// page that ends there is short and has a cursor to continue from.
const (
	filterPart = 200
	filterLook = 2000
)

// FilterPage reads on along a list until limit items fit.
func FilterPage[T any](
	limit int, cursor string, fits func(*T) bool, read func(limit int, cursor string) (Page[T], error),
) (Page[T], error) {
	var out Page[T]
	for looked := 0; looked < filterLook; {
		part, err := read(filterPart, cursor)
		if err != nil {
			return Page[T]{}, err
		}
		out.cursor = part.cursor
		for i := range part.Items {
			if !fits(&part.Items[i]) {
				continue
			}
			out.Items = append(out.Items, part.Items[i])
			if len(out.Items) == limit {
				if i+1 < len(part.Items) || part.Next != "" {
					return out, out.Cut(limit)
				}
				return out, nil
			}
		}
		looked += len(part.Items)
		if cursor = part.Next; cursor == "" {
			return out, nil
		}
		if len(part.Items) < filterPart { // it ended at its bytes, which are as much as a page may read (H-14)
			break
		}
	}
	out.Next = cursor
	return out, nil
}

// PageOf makes a page of a list that was read whole, as there is never much of it. Its items
// are in the order of their keys.
func PageOf[T, K any](list []T, name, cursor string, limit int, keyOf func(*T) K, compare func(a, b K) int) (Page[T], error) {
	return ReadPage(name, cursor, keyOf, func(after K) ([]T, bool, error) {
		rest := list
		if cursor != "" {
			begin, _ := slices.BinarySearchFunc(list, after, func(one T, key K) int {
				if compare(keyOf(&one), key) <= 0 {
					return -1
				}
				return 1
			})
			rest = list[begin:]
		}
		return rest[:min(len(rest), limit)], len(rest) > limit, nil
	})
}

// ListedFactories are the factories whose parts a list shows, nil for all of them: the
// requested one, or those that the caller's key reaches. False means that there are none.
func ListedFactories(c lineshaft.Caller, asked string) (uids []string, ok bool) {
	if asked != "" {
		return []string{asked}, c.MaySeeFactory(asked)
	}
	return c.FactoryUIDs, c.Role != lineshaft.RoleRun || c.FactoryUIDs[0] != ""
}

// PutWithin makes a change unless there is too much of something after it, and more than
// before: what exists already can still be changed and made smaller.
func PutWithin(ctx context.Context, things string, most store.Extent, measure func(context.Context) (store.Extent, error), put func() error) error {
	before, err := measure(ctx)
	if err != nil {
		return err
	}
	if err := put(); err != nil {
		return err
	}
	after, err := measure(ctx)
	switch {
	case err != nil:
		return err
	case after.Rows > most.Rows && after.Rows > before.Rows:
		return lineshaft.Conflict("there are %d %s, which is the limit; delete one that you do not need first", before.Rows, things)
	case after.Bytes > most.Bytes && after.Bytes > before.Bytes:
		return lineshaft.Conflict("the %s would have %d bytes in total, and at most %d are allowed; make this one shorter, or delete one that you do not need first", things, after.Bytes, most.Bytes)
	}
	return nil
}

// cursorVersion changes when the content of cursors does.
const cursorVersion = 1

// listCursor is the content of a cursor: where to continue, and in which list.
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

// Fingerprint identifies a list, so that a cursor continues only the one it came from.
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
