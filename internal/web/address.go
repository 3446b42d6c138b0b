package web

import (
	"net/http"
	"net/url"
)

// under is an address below a noun's, whatever ids hold.
func under(noun, id string, rest ...string) string {
	address := "/" + noun + "/" + url.PathEscape(id)
	for _, part := range rest {
		address += "/" + url.PathEscape(part)
	}
	return address
}

// withQuery is an address with values.
func withQuery(path string, values url.Values) string {
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// pageAddress is this address with another cursor; empty without one.
func pageAddress(r *http.Request, cursor string) string {
	if cursor == "" {
		return ""
	}
	query := r.URL.Query()
	query.Set("cursor", cursor)
	return withQuery(r.URL.EscapedPath(), query)
}

// firstAddress is the first page of a list; empty on that itself.
func firstAddress(r *http.Request) string {
	query := r.URL.Query()
	if query.Get("cursor") == "" {
		return ""
	}
	query.Del("cursor")
	return withQuery(r.URL.EscapedPath(), query)
}
