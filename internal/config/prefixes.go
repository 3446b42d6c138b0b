package config

import (
	"fmt"
	"net/netip"
	"strings"
)

type prefixes struct{ to *[]netip.Prefix }

// set takes addresses and networks, several in one text with commas between them.
func (v prefixes) set(texts []string) error {
	list := []netip.Prefix{}
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			part = strings.TrimSpace(part)
			if part == "" {
				continue
			}
			prefix, err := netip.ParsePrefix(part)
			if addr, addrErr := netip.ParseAddr(part); addrErr == nil {
				prefix, err = addr.Unmap().Prefix(addr.Unmap().BitLen())
			}
			if err != nil {
				return fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", part)
			}
			list = append(list, prefix.Masked())
		}
	}
	*v.to = list
	return nil
}

func (v prefixes) text() string {
	var list []string
	for _, prefix := range *v.to {
		list = append(list, prefix.String())
	}
	return strings.Join(list, ",")
}

func (v prefixes) kind() string { return "list" }
