package definition

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

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

// checkPayload compiles a filter, and if that does not do, each of its fields by
// itself: every one that is wrong is told.
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
	if pub, ok := errors.AsType[*lineshaft.Error](err); ok {
		blamed := *pub
		blamed.Field = strings.TrimPrefix(strings.TrimPrefix(pub.Field, "payload"), ".")
		err = &blamed
	}
	r.blame(err, path)
}
