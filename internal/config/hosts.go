package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

type hosts struct{ to *[]string }

// set takes names of hosts, several in one text with commas between them.
func (v hosts) set(texts []string) error {
	list := []string{}
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			part = strings.ToLower(strings.TrimSpace(part))
			if part == "" {
				continue
			}
			if !isHost(part) {
				return fmt.Errorf("%q is no host such as example.com, *.example.com, example.com:8443, 192.0.2.1 or [2001:db8::1]:443", part)
			}
			list = append(list, part)
		}
	}
	*v.to = list
	return nil
}

func (v hosts) text() string { return strings.Join(*v.to, ",") }

func (v hosts) kind() string { return "list" }

// isHost checks a pattern of the list of hosts: a name, *.name or an address, each
// with a port or without.
func isHost(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	host, port, ported := text, "", false
	if i := strings.LastIndex(text, ":"); i >= 0 && !strings.HasSuffix(text, "]") {
		host, port, ported = text[:i], text[i+1:], true
	}
	if n, err := strconv.ParseUint(port, 10, 16); ported && (err != nil || n == 0) {
		return false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		_, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil && strings.HasSuffix(inner, "]")
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	host = strings.TrimPrefix(host, "*.")
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return false
		}
	}
	last := host[strings.LastIndex(host, ".")+1:] // what looks like an address must be a whole one
	return len(host) <= 253 && strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}
