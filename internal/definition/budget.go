package definition

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
)

func budgetKeys(b *lineshaft.Budget) []key {
	return []key{
		{name: "maxTokens", doc: "Tokens both ways; 0 is no limit.", value: whole(&b.MaxTokens, 0, maxTokens, 0)},
		{name: "maxCostUsd", doc: "US dollars; 0 is no limit.", value: dollars(&b.MaxCostMicros)},
	}
}

var dollarForm = regexp.MustCompile(`^[0-9]{1,10}(\.[0-9]{1,6}0*)?$`)

// dollars is an amount, exact to the millionth.
func dollars(to *int64) value {
	return value{
		read: func(r *reader, path string, n *node) {
			if n.kind != numberNode {
				r.wrongKind(n, path, "a number of dollars", "write it without quotes, such as 2.50")
				return
			}
			whole, fraction, _ := strings.Cut(n.text, ".")
			micros, err := strconv.ParseInt(whole+(fraction + "000000")[:6], 10, 64)
			if !dollarForm.MatchString(n.text) || err != nil || micros > maxCostMicros {
				r.wrong(n, path, lineshaft.Clip(n.text, 40)+" is no amount from 0 to 1000000000 with at most 6 digits behind the point", "write one such as 2.50")
				return
			}
			*to = micros
		},
		write: func() *node {
			if *to == 0 {
				return nil
			}
			fraction := strings.TrimRight(strconv.FormatInt(1_000_000+*to%1_000_000, 10)[1:], "0")
			if fraction != "" {
				fraction = "." + fraction
			}
			return numberOf(strconv.FormatInt(*to/1_000_000, 10) + fraction)
		},
		schema: func() schema { return schema{"type": "number", "minimum": 0, "maximum": 1_000_000_000} },
	}
}
