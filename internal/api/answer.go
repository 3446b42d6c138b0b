package api

import "github.com/lineshaft/lineshaft/internal/control/base"

// given is what an operation reads that has a body and no parameters.
type given[T any] struct{ Body T }

// answer is what most operations answer with. A value that comes with an error is dropped (see bind).
type answer[T any] struct{ Body T }

// issued is an answer with a secret in it, which nothing on its way may keep.
type issued[T any] struct {
	CacheControl string `header:"Cache-Control"`
	Body         T
}

// kept is the answer of an operation that honours an Idempotency-Key.
type kept[T any] struct {
	Replayed string `header:"Idempotent-Replayed" doc:"true when this is the kept answer to an earlier request with the same Idempotency-Key."`
	Body     T
}

func reply[T any](body T, err error) (*answer[T], error) { return &answer[T]{body}, err }

func issue[T any](body T, err error) (*issued[T], error) { return &issued[T]{"no-store", body}, err }

func keep[T any](again bool, body T, err error) (*kept[T], error) {
	return &kept[T]{replayed(again), body}, err
}

// shown answers with what control gave, as the wire has it.
func shown[T, W any](wire func(T) W) func(T, error) (*answer[W], error) {
	return func(found T, err error) (*answer[W], error) {
		if err != nil {
			return nil, err
		}
		return reply(wire(found), nil)
	}
}

// at makes wire take what is given by value.
func at[T, W any](wire func(*T) W) func(T) W { return func(value T) W { return wire(&value) } }

// each makes a list of the wire, which is never null.
func each[T, W any](list []T, wire func(*T) W) []W {
	out := make([]W, len(list))
	for i := range list {
		out[i] = wire(&list[i])
	}
	return out
}

// fillWith is fillPage for what control gave and items that can always be made.
func fillWith[T, W any](wire func(*T) W) func(base.Page[T], error) ([]W, PageInfo, error) {
	return func(page base.Page[T], err error) ([]W, PageInfo, error) {
		if err != nil {
			return nil, PageInfo{}, err
		}
		return fillPage(page, func(one *T) (W, error) { return wire(one), nil })
	}
}

// ListQuery asks for a part of a list that clients may also read whole: without a limit it
// has all rows of a server of usual size.
type ListQuery struct {
	Limit  int    `query:"limit" default:"500" minimum:"1" maximum:"500"`
	Cursor string `query:"cursor" maxLength:"4096" doc:"From page_info.next_cursor."`
}

// PageQuery asks for a page of a list that may be long.
type PageQuery struct {
	Limit  int    `query:"limit" default:"20" minimum:"1" maximum:"500"`
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

// whenMore is the page information of a list that has none in the published API: a whole
// list omits it.
func whenMore(info PageInfo) *PageInfo {
	if !info.HasNextPage {
		return nil
	}
	return &info
}
