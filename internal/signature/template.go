package signature

import (
	"errors"
	"fmt"
	"strings"
)

// placeholder is a part of the signed text that differs from request to request.
type placeholder int

const (
	fieldNone placeholder = iota // literal text
	fieldBody
	fieldStamp
	fieldID
	fieldMethod
	fieldURL
	fieldForm      // Twilio: the form's members in order
	fieldHashedURL // Twilio: the URL with the body's hash in its query
)

// placeholderOf is the placeholder of that name.
func placeholderOf(name string) (placeholder, error) {
	switch name {
	case "body":
		return fieldBody, nil
	case "timestamp":
		return fieldStamp, nil
	case "id":
		return fieldID, nil
	case "method":
		return fieldMethod, nil
	case "url":
		return fieldURL, nil
	case "form":
		return fieldForm, nil
	case "hashed_url":
		return fieldHashedURL, nil
	}
	return fieldNone, fmt.Errorf("{%s} is unknown; use {body}, {timestamp}, {id}, {method} and {url}", name)
}

// part is a literal or a placeholder of a template.
type part struct {
	field   placeholder
	literal string
}

// parseTemplate splits a template into its parts. A placeholder may be used once.
func parseTemplate(template string) ([]part, error) {
	var parts []part
	used := map[placeholder]bool{}
	for template != "" {
		text, rest, found := strings.Cut(template, "{")
		if strings.Contains(text, "}") {
			return nil, errors.New("a } without {")
		}
		if text != "" {
			parts = append(parts, part{literal: text})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, errors.New("a { without }")
		}
		field, err := placeholderOf(name)
		if err != nil {
			return nil, err
		}
		if used[field] {
			return nil, fmt.Errorf("{%s} may be used once", name)
		}
		used[field] = true
		parts = append(parts, part{field: field})
		template = after
	}
	return parts, nil
}

// fields are the values that a rule took from a request.
type fields struct {
	stamp string
	id    string
}

// template is the signed text around the body, which is by far its largest part
// and is not copied.
type template struct {
	head, tail []part
	body       bool
	borders    string // what stands beside the id, and so must not be in it
}

func newTemplate(text string) (template, error) {
	parts, err := parseTemplate(text)
	if err != nil {
		return template{}, err
	}
	t := template{head: parts}
	for i, p := range parts {
		if p.field == fieldBody {
			t.head, t.tail, t.body = parts[:i], parts[i+1:], true
		}
		if p.field != fieldID {
			continue
		}
		if i > 0 && parts[i-1].literal != "" {
			before := parts[i-1].literal
			t.borders += before[len(before)-1:]
		}
		if i+1 < len(parts) && parts[i+1].literal != "" {
			t.borders += parts[i+1].literal[:1]
		}
	}
	return t, nil
}

// appendParts writes the values of some parts behind dst.
func appendParts(dst []byte, parts []part, r *Request, f fields) []byte {
	for _, p := range parts {
		switch p.field {
		case fieldNone:
			dst = append(dst, p.literal...)
		case fieldBody:
			dst = append(dst, r.Body...)
		case fieldStamp:
			dst = append(dst, f.stamp...)
		case fieldID:
			dst = append(dst, f.id...)
		case fieldMethod:
			dst = append(dst, r.Method...)
		case fieldURL:
			dst = append(dst, r.URL...)
		case fieldForm:
			dst = appendForm(dst, r.Body)
		case fieldHashedURL:
			dst = appendHashedURL(dst, r)
		}
	}
	return dst
}
