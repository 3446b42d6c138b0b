package filter

import "github.com/lineshaft/lineshaft/internal/jsontext"

// Doc is a body as filters see it.
type Doc = jsontext.Doc

// Value is a place in a body, for those who read more of it than filters do.
type Value = jsontext.Value

// Parse reads one JSON value. The document refers to body, which must not change
// while it is in use. The error quotes nothing of the body.
func Parse(body []byte) (*Doc, error) { return jsontext.Parse(body) }

const none = jsontext.None
