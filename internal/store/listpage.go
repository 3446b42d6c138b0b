package store

import (
	"context"
	"fmt"

	"github.com/lineshaft/lineshaft"
)

// listBytes is how much of the database a page of agents, automations, schedules or keys
// reads (H-14), unless a single row is longer.
const listBytes = 16 << 20

// listing is a list of which a page is read.
type listing[T any] struct {
	// sizes selects how long each row is, without the end of the statement.
	sizes string
	// end is the rest of the statement, with the order of the list.
	end  string
	args []any
	read func(ctx context.Context, end string, args ...any) ([]T, error)
	// cut makes of a row what lists show.
	cut func(*T)
}

// readPage reads rows until there are limit of them, or listBytes. More says that the list
// continues. The lengths of the rows are asked first: neither engine reads long texts for that.
func readPage[T any](ctx context.Context, r reader, l listing[T], limit int) (page []T, more bool, err error) {
	rows, read := 0, int64(0)
	err = r.each(ctx, fmt.Sprintf("%s %s LIMIT %d", l.sizes, l.end, limit+1), l.args, func(scan rowScan) error {
		var size int64
		if err := scan(&size); err != nil || more {
			return err
		}
		if read += size; rows == limit || rows > 0 && read > listBytes {
			more = true
			return nil
		}
		rows++
		return nil
	})
	if err != nil || rows == 0 {
		return nil, false, err
	}
	page, err = l.read(ctx, fmt.Sprintf("%s LIMIT %d", l.end, rows), l.args...)
	for i := range page {
		l.cut(&page[i])
	}
	return page, more, err
}

// cutTexts makes of prompts and a configuration what lists show, and says whether that is
// less than there is: tool servers and commands that are long are left out.
func cutTexts(config *lineshaft.AgentConfig, prompts ...*string) (cut bool) {
	for _, text := range append(prompts, &config.BasePrompt) {
		if len(*text) > lineshaft.MaxListedPrompt {
			*text, cut = head(*text, lineshaft.MaxListedPrompt), true
		}
	}
	tools := len(config.MCPServers) > 0 || config.Harness != nil && len(config.Harness.Command) > 0
	if !tools || len(restOf(*config)) <= listedConfig {
		return cut
	}
	config.MCPServers = nil
	if config.Harness != nil {
		config.Harness.Command = nil
	}
	return true
}

// Extent is how much there is of something.
type Extent struct {
	Rows  int
	Bytes int64
}

func (r reader) extent(ctx context.Context, query string) (e Extent, err error) {
	err = r.one(ctx, query, nil, &e.Rows, &e.Bytes)
	return e, err
}
