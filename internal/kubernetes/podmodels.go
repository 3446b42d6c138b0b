package kubernetes

import (
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/model"
)

// PodModels are the models that a pod reaches through the launcher's gateway. The key is
// a throw-away one, which opens this execution's session and dies with it.
type PodModels struct {
	Key       string        `json:"key"`
	Default   string        `json:"default,omitempty"`
	Endpoints []PodEndpoint `json:"endpoints,omitempty"`
}

// PodEndpoint is all that the launcher offers of one protocol.
type PodEndpoint struct {
	Protocol model.Protocol         `json:"protocol"`
	URL      string                 `json:"url"`
	Models   []string               `json:"models,omitempty"`
	Prices   map[string]model.Price `json:"prices,omitempty"`
}

// Set is what the pod's own gateway calls.
func (m *PodModels) Set() model.Set {
	set := model.Set{Default: m.Default}
	for _, e := range m.Endpoints {
		set.Endpoints = append(set.Endpoints, model.Endpoint{
			Name: string(e.Protocol), Protocol: e.Protocol, URL: e.URL, Key: lineshaft.SecretText(m.Key), Models: e.Models, Prices: e.Prices,
		})
	}
	return set
}

// podModels describes a set of endpoints to a pod: where it finds them here, and nothing
// of their own addresses and keys.
func podModels(set model.Set, base, key string) *PodModels {
	m := &PodModels{Key: key, Default: set.Default}
	for _, e := range set.Endpoints {
		at := slices.IndexFunc(m.Endpoints, func(p PodEndpoint) bool { return p.Protocol == e.Protocol })
		if at < 0 {
			address := base + "/" + string(e.Protocol)
			if e.Protocol == model.OpenAI {
				address += "/v1"
			}
			m.Endpoints = append(m.Endpoints, PodEndpoint{Protocol: e.Protocol, URL: address, Models: e.Models, Prices: map[string]model.Price{}})
			at = len(m.Endpoints) - 1
		} else if p := &m.Endpoints[at]; len(p.Models) == 0 || len(e.Models) == 0 {
			p.Models = nil // one of them lets every name through
		} else {
			p.Models = append(slices.Clone(p.Models), e.Models...)
		}
		for id, price := range e.Prices {
			if _, there := m.Endpoints[at].Prices[id]; !there {
				m.Endpoints[at].Prices[id] = price
			}
		}
	}
	return m
}
