package config

import (
	"fmt"
	"net/url"
	"strings"
)

// Vendor is a model endpoint that was set up without a file.
type Vendor struct {
	// Name is anthropic, openai or gemini.
	Name string
	// URL is empty for the vendor's own address.
	URL string
	Key Secret
}

// Vendors lists those that a key or an address was given for.
func (c Config) Vendors() []Vendor {
	var list []Vendor
	for _, v := range []Vendor{
		{"anthropic", c.AnthropicURL, c.AnthropicAPIKey}, {"openai", c.OpenAIURL, c.OpenAIAPIKey}, {"gemini", c.GeminiURL, c.GeminiAPIKey},
	} {
		if v.URL != "" || v.Key != "" {
			list = append(list, v)
		}
	}
	return list
}

func (c Config) checkModels() []error {
	var errs []error
	for _, v := range c.Vendors() {
		name := envPrefix + strings.ToUpper(v.Name)
		u, err := url.Parse(v.URL)
		if v.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
			errs = append(errs, fmt.Errorf("%s_URL: write a whole URL without user, ? and #, such as https://models.example.com", name))
		}
		if strings.ContainsFunc(v.Key.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }) {
			errs = append(errs, fmt.Errorf("%s_API_KEY: holds a space or another character that cannot be sent; check how it was copied", name))
		}
	}
	return errs
}
