package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

type duration struct{ to *time.Duration }

func (v duration) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	d, err := ParseDuration(text)
	if err != nil {
		return err
	}
	*v.to = d
	return nil
}

func (v duration) text() string {
	if *v.to == 0 {
		return "0"
	}
	if day := 24 * time.Hour; *v.to > 0 && *v.to%day == 0 {
		return fmt.Sprintf("%dd", *v.to/day)
	}
	text := v.to.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (v duration) kind() string { return "duration" }

// ParseDuration reads a time such as 90s, 12h, 30d or 1d12h.
func ParseDuration(text string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a time such as 90s, 12h or 30d", text)
	days, rest, found := strings.Cut(text, "d")
	if !found {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, bad
		}
		return d, nil
	}
	n, err := strconv.Atoi(days)
	if err != nil || n < 0 || n > 100_000 {
		return 0, bad
	}
	total := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return 0, bad
	}
	return total + d, nil
}
