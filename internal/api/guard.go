package api

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/jsonbody"
	"github.com/lineshaft/lineshaft/internal/rate"
)

// gate is what the guard must know about a route.
type gate struct {
	permission lineshaft.Permission
	operationDoc
	// body is what the body is read into; nil when the handler sees to it.
	body reflect.Type
}

// guard comes before every route: it lets a request through once the caller is known,
// within the rate and permitted, and the request is fit to be decoded.
func (s *server) guard(row route, next http.HandlerFunc) http.HandlerFunc {
	return s.guardAs(gate{row.Permission, s.docs[row.ID], s.bodies[row.ID]}, next)
}

func (s *server) guardAs(known gate, next http.HandlerFunc) http.HandlerFunc {
	steps := []func(http.ResponseWriter, *http.Request, gate) error{
		checkPath, s.checkCaller, checkQuery, s.readBody, checkIdempotency,
	}
	return func(w http.ResponseWriter, r *http.Request) {
		for _, step := range steps {
			if err := step(w, r, known); err != nil {
				s.problems.Write(w, r, err)
				return
			}
		}
		next(w, r)
	}
}

// checkPath refuses ids that no database text can hold: nothing has such an id.
func checkPath(_ http.ResponseWriter, r *http.Request, _ gate) error {
	if !storable(r.URL.Path) {
		return &lineshaft.Error{Code: lineshaft.CodeNotFound, Message: "there is nothing at this path"}
	}
	return nil
}

func storable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// checkCaller authenticates, counts and authorises.
func (s *server) checkCaller(w http.ResponseWriter, r *http.Request, row gate) error {
	info := infoFrom(r.Context())
	info.source = lineshaft.SourceAPI
	if row.permission == lineshaft.PermissionNone {
		return nil
	}
	key, ok := bearer(r.Header)
	if !ok {
		return &lineshaft.Error{Code: lineshaft.CodeAuthenticationRequired}
	}
	authenticate := s.authenticate
	if row.permission == lineshaft.PermissionWorkOwn && runs.IsRunToken(key) {
		authenticate = s.Control.AuthenticateExecution
	}
	caller, err := authenticate(r.Context(), key)
	if err != nil {
		return err
	}
	caller.RemoteAddr, caller.RequestID = info.remote, info.id
	info.caller, info.source = caller, sourceOf(r.Header, caller)
	s.continueTrace(w, r, info)
	// A worker's calls are bounded by its slots, and a call that comes too late ends an
	// agent. A run token that calls as a worker may be in the hands of an agent.
	switch {
	case row.permission == lineshaft.PermissionWorkOwn && caller.Role == lineshaft.RoleRun:
		err = s.checkExecutorRate(caller.KeyID, r.URL.Path)
	case row.permission != lineshaft.PermissionWork && row.permission != lineshaft.PermissionWorkOwn:
		err = s.checkRate(w, caller.KeyID)
	}
	if err != nil {
		return err
	}
	if !caller.Role.May(row.permission) {
		return lineshaft.Denied("the role %q of this key does not include %s", caller.Role, row.permission)
	}
	return nil
}

// bearer takes the key out of the one Authorization header. Two of them are as bad
// as none: proxies disagree about which counts.
func bearer(header http.Header) (key string, ok bool) {
	values := header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, key, found := strings.Cut(values[0], " ")
	key = strings.TrimSpace(key)
	return key, found && strings.EqualFold(scheme, "bearer") && key != ""
}

func (s *server) checkRate(w http.ResponseWriter, keyID string) error {
	verdict, on := s.Rate.Take(keyID, s.Now())
	if !on {
		return nil
	}
	w.Header().Set("Ratelimit-Limit", strconv.Itoa(s.Rate.Limit()))
	w.Header().Set("Ratelimit-Remaining", strconv.Itoa(verdict.Remaining))
	w.Header().Set("Ratelimit-Reset", strconv.FormatInt(rate.Seconds(verdict.Reset), 10))
	if verdict.Wait > 0 {
		return lineshaft.RateLimited(verdict.Wait, "this key may make %d requests a minute; wait %d s", s.Rate.Limit(), rate.Seconds(verdict.Wait))
	}
	return nil
}

// checkQuery refuses a query that cannot be read, and drops parameters without a
// value: the published clients send "name=" for null. Metadata filters stay, since
// a metadata value may be empty.
func checkQuery(_ http.ResponseWriter, r *http.Request, _ gate) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return lineshaft.Invalid("", "the query string is not well formed; percent-encode its values")
	}
	for name, list := range values {
		kept := list[:0]
		for _, value := range list {
			if !storable(name) || !storable(value) {
				return lineshaft.Invalid(strings.ToValidUTF8(name, "?"), "query parameters must be UTF-8 without the character U+0000")
			}
			if value == "" && name == "dry_run" {
				return lineshaft.Invalid(name, "write dry_run=1, or leave it out") // dropped, it would do what was only to be tried
			}
			if value != "" || strings.HasPrefix(name, "metadata[") {
				kept = append(kept, timeOfDate(name, value))
			}
		}
		if values[name] = kept; len(kept) == 0 {
			delete(values, name)
		}
	}
	cleaned := *r.URL // the address itself belongs to our caller
	cleaned.RawQuery = values.Encode()
	r.URL = &cleaned
	return nil
}

// timeOfDate makes the beginning of the day of a date, in UTC, where a time is asked for.
func timeOfDate(name, value string) string {
	if _, err := time.Parse(time.DateOnly, value); err == nil && (strings.HasSuffix(name, "_after") || strings.HasSuffix(name, "_before")) {
		return value + "T00:00:00Z"
	}
	return value
}

// uploadTimeout is how long a file may take to arrive.
const uploadTimeout = 10 * time.Minute

// readBody reads and checks the body before huma sees it: JSON whatever the
// Content-Type says, bounded in size and in time (H-3).
func (s *server) readBody(w http.ResponseWriter, r *http.Request, row gate) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || row.Streamed {
		return nil
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return lineshaft.Invalid("Content-Encoding", "send the body as it is, not compressed")
	}
	if row.Upload {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTimeout))
		return nil // the handler that stores it bounds it
	}
	limit := int64(smallBody)
	if row.Large {
		limit = largeBody
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(s.bodyTimeout)) // not every writer has a connection
	data, err := []byte("{}"), error(nil)
	unpacked := false
	if row.Archive {
		unpacked, err = readArchive(r, limit)
	}
	if err == nil && !unpacked {
		data, err = jsonbody.Read(r.Body, jsonbody.Options{Limit: limit, Length: r.ContentLength, AllowEmpty: true, AllowNUL: row.NUL})
	}
	if err != nil {
		// What is left of the body is not worth reading.
		w.Header().Set("Connection", "close")
		return err
	}
	_ = conn.SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(data))
	r.Header.Set("Content-Type", "application/json")
	if row.Idempotent {
		infoFrom(r.Context()).idempotency = &base.Idempotency{
			Method: r.Method, Path: r.URL.Path, BodyHash: sha256.Sum256(data),
		}
	}
	if row.body != nil {
		jsonbody.BlankInexactNames(data, row.body)
	}
	return nil
}

// checkIdempotency reads the Idempotency-Key of operations that honour one (H-9).
func checkIdempotency(_ http.ResponseWriter, r *http.Request, _ gate) error {
	info := infoFrom(r.Context())
	if info.idempotency == nil {
		return nil
	}
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		info.idempotency = nil
		return nil
	}
	if len(values) > 1 || !printable(values[0], 255) {
		return lineshaft.Invalid("Idempotency-Key", "send one key of 1 to 255 printable ASCII characters")
	}
	info.idempotency.Key = values[0]
	return nil
}

func printable(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
