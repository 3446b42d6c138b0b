package fakemodel

// Usage is what an answer costs in tokens. Cached is part of Input.
type Usage struct{ Input, Cached, Output int64 }

// CallUsage is what an answer with tool calls costs, before the cached share of
// [Options] is taken into account.
func CallUsage() Usage { return Usage{Input: 100, Output: 20} }

// TextUsage is what every other answer costs.
func TextUsage() Usage { return Usage{Input: 200, Output: 10} }

// Plus adds.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.Output + v.Output}
}

func (s *Server) cost(reply Reply) Usage {
	usage := TextUsage()
	if len(reply.Calls) > 0 {
		usage = CallUsage()
	}
	usage.Cached = min(s.opts.Cached, usage.Input)
	return usage
}

// Usage is the sum of all answers so far, of one model if it is named.
func (s *Server) Usage(model string) Usage {
	var sum Usage
	for _, r := range s.Requests() {
		if model == "" || r.Model == model {
			sum = sum.Plus(r.Usage)
		}
	}
	return sum
}
