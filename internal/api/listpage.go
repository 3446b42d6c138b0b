package api

import (
	"github.com/lineshaft/lineshaft/internal/control/base"
)

// ListQuery asks for a part of a list that clients may also read whole: without a limit it
// has all rows of a server of usual size.
type ListQuery struct {
	Limit  int    `query:"limit" default:"500" minimum:"1" maximum:"500"`
	Cursor string `query:"cursor" maxLength:"4096" doc:"From page_info.next_cursor."`
}

// fillPage makes the items of an answer. It ends the page where these have 8 MiB (H-14),
// but not before the first.
func fillPage[T, W any](page base.Page[T], wire func(*T) (W, error)) ([]W, PageInfo, error) {
	items, length := []W{}, 0
	for i := range page.Items {
		item, err := wire(&page.Items[i])
		if err != nil {
			return nil, PageInfo{}, err
		}
		text, err := marshal(item)
		if err != nil {
			return nil, PageInfo{}, err
		}
		if length += len(text) + 1; length > pageBytes && i > 0 {
			err := page.Cut(i)
			return items, pageInfo(page.Next), err
		}
		items = append(items, item)
	}
	return items, pageInfo(page.Next), nil
}

// whenMore is how a list goes on that has no end of its own in the published API: it says
// nothing when it is whole.
func whenMore(info PageInfo) *PageInfo {
	if !info.HasNextPage {
		return nil
	}
	return &info
}

// always is a way to make an item that cannot fail.
func always[T, W any](wire func(*T) W) func(*T) (W, error) {
	return func(one *T) (W, error) { return wire(one), nil }
}
