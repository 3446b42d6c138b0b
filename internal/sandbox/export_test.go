package sandbox

// WithoutGroups makes a sandbox believe that this machine has no control groups
// it may use.
func WithoutGroups(s Sandbox) Sandbox {
	switch s := s.(type) {
	case *None:
		s.limits.once.Do(func() {})
		s.limits.found = hierarchy{}
	case *Bubblewrap:
		s.limits.once.Do(func() {})
		s.limits.found = hierarchy{}
	}
	return s
}
