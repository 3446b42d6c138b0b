package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/problem"
)

// failure is a problem in the form that huma writes: a status, headers and a body
// with its own content type.
type failure struct {
	problem.Document
	header http.Header
}

func (s *server) failure(ctx context.Context, err error) *failure {
	doc, header := s.problems.Describe(ctx, infoFrom(ctx).path, err)
	header.Set("Cache-Control", "no-store")
	return &failure{Document: doc, header: header}
}

// Error implements error; it is what the caller sees.
func (f *failure) Error() string { return f.Document.Error }

// GetStatus implements huma.StatusError.
func (f *failure) GetStatus() int { return f.Status }

// GetHeaders implements huma.HeadersError.
func (f *failure) GetHeaders() http.Header { return f.header }

// ContentType implements huma.ContentTypeFilter.
func (f *failure) ContentType(string) string { return problem.ContentType }

// MarshalJSON writes the document alone.
func (f *failure) MarshalJSON() ([]byte, error) { return json.Marshal(f.Document) }

type humaContext huma.Context

// wireContext lets transformError replace the status that huma chose for a
// request it refused. (huma's own way, the package variable NewError, would be
// shared by every API in the process.)
type wireContext struct {
	humaContext
	status int
}

// SetStatus implements huma.Context.
func (c *wireContext) SetStatus(code int) {
	if c.status != 0 {
		code = c.status
	}
	c.humaContext.SetStatus(code)
}

// Unwrap gives humago.Unwrap the context below.
func (c *wireContext) Unwrap() huma.Context { return c.humaContext }

// transformError is a huma.Transformer: it turns the errors that huma itself makes
// (bad parameters, a body that does not fit its schema) into problems.
func (s *server) transformError(ctx huma.Context, _ string, body any) (any, error) {
	model, ok := body.(*huma.ErrorModel)
	if !ok {
		return body, nil
	}
	f := s.failure(ctx.Context(), fromModel(model))
	for name, values := range f.header {
		ctx.SetHeader(name, values[0])
	}
	if wire, ok := ctx.(*wireContext); ok {
		wire.status = f.Status
	}
	return f, nil
}

// fromModel reads huma's error: the fields to blame, and why.
func fromModel(model *huma.ErrorModel) error {
	switch model.Status {
	case http.StatusRequestEntityTooLarge:
		return &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge, Message: model.Detail}
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType, http.StatusRequestTimeout:
	default:
		return fmt.Errorf("huma answered %d: %w", model.Status, model)
	}
	const shown = 5
	var field string
	var texts []string
	for i, detail := range model.Errors {
		if detail == nil || len(texts) == shown {
			break
		}
		path, text := blame(detail)
		switch {
		case i == 0:
			field = path
		case path != "":
			text = path + ": " + text
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		texts = []string{model.Detail}
	}
	return lineshaft.Invalid(field, "%s", strings.Join(texts, "; "))
}

// blame splits one of huma's complaints into the path as the caller wrote it and
// the complaint.
func blame(detail *huma.ErrorDetail) (path, text string) {
	path, text = detail.Location, detail.Message
	for _, place := range []string{"body", "query", "path", "header"} {
		if path == place {
			path = ""
			break
		}
		if rest, ok := strings.CutPrefix(path, place+"."); ok {
			path = rest
			break
		}
	}
	if name, ok := strings.CutPrefix(text, "expected required property "); ok {
		name = strings.TrimSuffix(name, " to be present")
		return join(path, name), "is required"
	}
	if strings.HasPrefix(text, "invalid date/time for format ") {
		return path, "expected a time in RFC 3339 format, such as 2026-05-01T12:00:00Z, or a date such as 2026-05-01"
	}
	switch text {
	case "invalid integer":
		return path, "expected a whole number, such as 20"
	case "invalid boolean":
		return path, "expected true or false"
	}
	return path, plainNumber(text)
}

// plainNumber writes a large number at the end of one of huma's complaints as people do.
func plainNumber(text string) string {
	at := strings.LastIndexByte(text, ' ') + 1
	if number, err := strconv.ParseFloat(text[at:], 64); err == nil && strings.Contains(text[at:], "e+") {
		return text[:at] + strconv.FormatFloat(number, 'f', -1, 64)
	}
	return text
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// unmarshal decodes a request body for huma. Numbers of an untyped value keep their
// text: one that no float can hold is judged where it is used.
func unmarshal(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, ok := v.(*any); ok {
		dec.UseNumber()
	}
	return typeError("", dec.Decode(v))
}

// typeError says in the caller's words what encoding/json says in Go's.
func typeError(path string, err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	text := fmt.Sprintf("expected %s, not %s", jsonName(wrong.Type), wrong.Value)
	if path = join(path, wrong.Field); path != "" {
		text = path + ": " + text
	}
	return errors.New(text)
}

func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Map, reflect.Struct:
		return "object"
	case reflect.Float32, reflect.Float64:
		return "number"
	default:
		return "integer"
	}
}
