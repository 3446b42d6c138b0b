package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

type origins struct{ to *[]string }

// set takes origins, several in one text with commas between them.
func (v origins) set(texts []string) error {
	list := []string{}
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			part = strings.TrimSpace(part)
			if part == "" {
				continue
			}
			origin, err := parseOrigin(part)
			if err != nil {
				return err
			}
			if !slices.Contains(list, origin) {
				list = append(list, origin)
			}
		}
	}
	*v.to = list
	return nil
}

// parseOrigin writes an origin as browsers do.
func parseOrigin(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Host, "*") {
		return "", fmt.Errorf("%q is not an origin such as https://app.example.com: scheme, host and port alone", text)
	}
	host := strings.ToLower(u.Host)
	if u.Port() == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host = strings.TrimSuffix(host, ":"+u.Port())
	}
	return u.Scheme + "://" + host, nil
}

func (v origins) text() string { return strings.Join(*v.to, ",") }

func (v origins) kind() string { return "list" }
